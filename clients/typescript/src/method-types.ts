import type { Answer, ListAnswer } from './answer.ts';
import type { Schemas } from './generated/operations.ts';

/** Options of every request. */
export interface RequestOptions {
  /** Ends the request. A call that the service has accepted continues there. */
  signal?: AbortSignal | undefined;
  /** The time that each attempt may take. Default: the limit of the operation and a few seconds. */
  timeoutMs?: number | undefined;
  headers?: Readonly<Record<string, string>> | undefined;
}

/** Options of calls that cost units. */
export interface CallOptions extends RequestOptions {
  /** Refuses the call with QUOTA_MAX_UNITS if it costs more. */
  maxUnits?: number | undefined;
  /** Address that receives an event when the call has ended. */
  webhook?: string | undefined;
  /** true: returns the price of the call, and does not make it. */
  dryRun?: boolean | undefined;
  /** csv: returns the answer as a table, for operations that have one. */
  format?: 'json' | 'csv' | undefined;
}

/** The result of a call: depends on its options. */
type ResultOf<Data, Options> = Options extends { dryRun: true }
  ? Schemas['Quote']
  : Options extends { format: 'csv' }
    ? string
    : Data;

/** A method of an operation that costs units. */
export type Call<Params, Data> = <const Options extends CallOptions = Record<never, never>>(
  params: Params,
  options?: Options,
) => Answer<ResultOf<Data, Options>>;

/** The same for an operation without required parameters. */
export type CallWithoutParams<Params, Data> = <const Options extends CallOptions = Record<never, never>>(
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
