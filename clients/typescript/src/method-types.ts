import type { Answer, ListAnswer } from './answer.ts';
import type { Schemas, TableFormat } from './generated/operations.ts';

/** Options of every request. */
export interface RequestOptions {
  /** Ends the request. A call that the service has accepted continues there. */
  signal?: AbortSignal | undefined;
  /** The time that each attempt may take. Default: the limit of the operation and a few seconds. */
  timeoutMs?: number | undefined;
  headers?: Readonly<Record<string, string>> | undefined;
}

/** Options of calls that cost units. @template Tables the names of the tables of an answer; never without any. */
export interface CallOptions<Tables extends string = string> extends RequestOptions {
  /** Refuses the call with QUOTA_MAX_UNITS if it costs more. */
  maxUnits?: number | undefined;
  /** Address that receives an event when the call has ended. */
  webhook?: string | undefined;
  /** true: returns the price of the call, and does not make it. */
  dryRun?: boolean | undefined;
  /** Other than json: returns a table of the answer as a file. */
  format?: ([Tables] extends [never] ? 'json' : 'json' | TableFormat) | undefined;
  /** The rows of the file. Default: the first table that the parameters allow. */
  table?: Tables | undefined;
}

/** The result of a call: depends on its options. */
type ResultOf<Data, Options> = Options extends { dryRun: true }
  ? Schemas['Quote']
  : Options extends { format: TableFormat }
    ? File
    : Data;

/** A method of an operation that costs units. */
export type Call<Params, Data, Tables extends string = never> = <
  const Options extends CallOptions<Tables> = Record<never, never>,
>(
  params: Params,
  options?: Options,
) => Answer<ResultOf<Data, Options>>;

/** The same for an operation without required parameters. */
export type CallWithoutParams<Params, Data, Tables extends string = never> = <
  const Options extends CallOptions<Tables> = Record<never, never>,
>(
  params?: Params,
  options?: Options,
) => Answer<ResultOf<Data, Options>>;

/** A method that is free. */
export type Free<Params, Data> = (params: Params, options?: RequestOptions) => Answer<Data>;

export type FreeWithoutParams<Params, Data> = (params?: Params, options?: RequestOptions) => Answer<Data>;

/** A method without parameters. */
export type Plain<Data> = (options?: RequestOptions) => Answer<Data>;

/** A method for one job, batch, schedule, tracker or delivery. */
export type OfId<Data> = (id: string, options?: RequestOptions) => Answer<Data>;

export type OfIdWith<Params, Data> = (id: string, params?: Params, options?: RequestOptions) => Answer<Data>;

/** A list in pages: `await` returns one page, `for await` all entries from this page on. */
export type List<Ids extends unknown[], Params, Page, Entry> = (
  ...args: [...Ids, params?: Params, options?: RequestOptions]
) => ListAnswer<Page, Entry>;

/** A list whose pages cost units: the options ask for the price or a table of one page instead. */
export type ListCall<Params, Page, Entry, Tables extends string = never> = <
  const Options extends CallOptions<Tables> = Record<never, never>,
>(
  params: Params,
  options?: Options,
) => Options extends { dryRun: true } | { format: TableFormat }
  ? Answer<ResultOf<Page, Options>>
  : ListAnswer<Page, Entry>;

type AsTable<Params> = Params & { format: TableFormat };

type AsJson<Params> = Omit<Params, 'format'> & { format?: 'json' | undefined };

/** A method that is free, and whose parameter format asks for a file. */
export interface FreeOrTable<Params, Data> {
  (params: AsTable<Params>, options?: RequestOptions): Answer<File>;
  (params?: AsJson<Params>, options?: RequestOptions): Answer<Data>;
}

/** A list whose parameter format asks for a file instead of pages. */
export interface ListOrTable<Params, Page, Entry> {
  (params: AsTable<Params>, options?: RequestOptions): Answer<File>;
  (params?: AsJson<Params>, options?: RequestOptions): ListAnswer<Page, Entry>;
}
