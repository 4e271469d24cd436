import type { z } from 'zod';
import { HOUR_MS } from '../platform/durations.ts';
import type { ErrorKind } from '../platform/errors.ts';
import type { FieldsOf, Records } from './answer-fields.ts';
import type { ReportsNeeded } from './brand-analytics/keywords.ts';
import { withFields, withoutForm } from './params/answer-form.ts';
import type { PoolName, ProviderKind } from './pools.ts';
import type { Tables } from './tables/tables.ts';
import type { Toolset } from './toolsets.ts';

/** The parts of a request that can carry parameters. */
export interface RawRequest {
  query: Record<string, unknown>;
  body: unknown;
  /** The path parameters, such as `:name`. */
  params: Record<string, unknown>;
}

export interface Route {
  method: 'GET' | 'POST';
  path: string;
  /** Extracts the parameters from the request. Default: the query of a GET, the body of a POST. */
  decode?: (request: RawRequest) => unknown;
  /** The query parameter that holds all parameters of a GET as JSON, if the route has one. */
  jsonParameter?: string;
  /** Selects the operation by the query parameter `type` when several share a path. Default: the first of them. */
  type?: string;
  /** The error for a body that is not JSON. Default: VALIDATION_FAILED. */
  invalidJsonKind?: 'SELECTION_INVALID';
}

interface Described<Name extends string, Input> {
  name: Name;
  /** One sentence for the documentation. */
  summary: string;
  /** The first is canonical; the others are aliases. */
  routes: readonly [Route, ...Route[]];
  /** Parses the parameters of a request into the canonical input. */
  params: z.ZodType<Input>;
  /**
   * Adds the defaults that depend on the current day, and rejects days out of range. Idempotent within the same day.
   * @param today YYYY-MM-DD in UTC.
   * @throws SoukError VALIDATION_FAILED
   */
  onDay?(input: Input, today: string): Input;
  /** Name of the MCP tool: group, verb, noun. */
  tool: string;
  toolset: Toolset;
  /** What an agent must know in addition to the summary. */
  toolHint?: string;
  /** Defaults of the tool that differ from those of the HTTP interface. */
  toolDefaults?: Partial<Input>;
  /** The error for invalid parameters. Default: VALIDATION_FAILED. */
  invalidKind?: 'SELECTION_INVALID';
  /** Additional errors of this operation, for the documentation. */
  errors?: readonly ErrorKind[];
}

/** One piece of upstream data that an operation needs. */
export interface Source {
  /** Its name within the call: the ASIN of a product, or '' for a single source. */
  key: string;
  /** Identifies the upstream request completely: calls with the same identity share one fetch for an hour. */
  identity: string;
  /** The kind of its data, if the operation joins several. Default: the kind of the operation. */
  provider?: ProviderKind;
  /** How long its data is kept. Default: one hour. */
  keptForMs?: number;
  /** When upstream refuses, data up to this age is returned as stale, with its age. Default: no data. */
  staleForMs?: number;
  /** Returns its data from an answer of the provider that has no other data. With it, the answer is stored as it came. */
  read?(answer: unknown): unknown;
}

/** A request that must precede the data request, for a token for example. Its age does not count as the data's age. */
export interface Preliminary {
  identity: string;
  /** See `Source.provider`. */
  provider?: ProviderKind;
  freshForMs: number;
}

export interface Presented {
  data: Record<string, unknown>;
  metadata?: Record<string, unknown>;
}

interface PresentContext {
  /** Unix milliseconds. */
  now: number;
  /** The errors of sources that could not be fetched, by key; for an operation with `partial`. */
  failures?: ReadonlyMap<string, ErrorKind>;
}

/** An operation that a worker executes and that costs units. */
export interface QueuedOperation<Name extends string = string, Input = unknown, Raw = unknown>
  extends Described<Name, Input> {
  kind: 'queued';
  price: {
    /**
     * Units to reserve. They are charged in full unless `settle` returns fewer.
     * @param rows of the week that the input names, for operations with `reports`; absent where it is not known.
     */
    quote(input: Input, rows?: number): number;
    /** The price in words, for the documentation. */
    text: string;
    /** Units to charge; never more than the quote. */
    settle?(input: Input, presented: Presented): number;
  };
  /** The pools it may use; `queue` selects one. Default: the first. */
  pools: readonly [PoolName, ...PoolName[]];
  queue(input: Input): PoolName;
  /** Returns whether the data of a call may take several megabytes. Workers run such calls in a thread of their own. */
  isLarge?(input: Input): boolean;
  /** The sources that its handler fetches first; for most operations these are all. */
  source(input: Input): readonly Source[];
  /**
   * The input field with the age that the caller accepts. It does not affect the answer otherwise.
   * update: the maximum age of a cached answer in hours; 0 always fetches from upstream.
   * maxStale: the maximum age in seconds while upstream refuses.
   */
  freshness?: 'update' | 'maxStale';
  /**
   * Returns when the provider last updated the data of a source, Unix milliseconds; null if it does not say. With
   * `update`, the age of cached data counts from this time.
   */
  updatedAt?(raw: Raw): number | null;
  /** Whether the answer is for one account only, because it names a file of the account. Such answers are not cached. */
  isOwn?: true;
  /** How long a cached answer stays fresh, if less than an hour. */
  freshForMs?: number;
  /**
   * The imported reports that the answer uses; null if this input needs none. The call is refused before units are
   * reserved when a needed week is not loaded. An answer is shared until one of these reports is imported again.
   */
  reports?(input: Input): ReportsNeeded | null;
  /** For an operation whose answer may lack sources that could not be fetched. Other operations need all sources. */
  partial?: PartialAnswer;
  respond: Responder<Input, Raw>;
  /**
   * Returns the data of a JSON answer as tools show them: in common units (currency, stars, ISO times), and without what
   * repeats. Without the input, if it is not known any more.
   */
  toolData?(data: Record<string, unknown>, input: Partial<Input>): Record<string, unknown>;
  /** Batch items that differ only in this list are combined into one call. */
  bundle?: Bundle<Input>;
  /** The answer as tables, by name, if it has records. */
  tables?: Tables<Input>;
}

/**
 * Schema of the envelope's `data` for documentation and tools. `fromCache` is omitted because all answers have it.
 * Answers are not validated against it; objects with fields of the provider are loose.
 */
type AnswerData = z.ZodObject;

/** The sources that an answer lacks are not charged: `price.settle` leaves them out. */
interface PartialAnswer {
  /** Returns the error with which a call ends if all of its sources failed. */
  failureOf(data: Record<string, unknown>): ErrorKind | null;
}

/** Combines several calls into one, and splits its answer. */
export interface Bundle<Input> {
  /** The fields of the canonical input that can hold the list of texts. An input has one of them. */
  fields: readonly [keyof Input & string, ...(keyof Input & string)[]];
  /** The longest list of one call; 1 when calls with this input cannot be combined. */
  max(input: Input): number;
  /** Returns the answer to a call for `part` from the data of the combined call. */
  pick(data: Record<string, unknown>, part: Input): Record<string, unknown>;
}

/** Converts raw data to the answer. `found` lacks the sources for which upstream has no data. */
type Responder<Input, Raw> =
  | {
      type: 'json';
      answer: AnswerData;
      /** The records whose fields a caller can select. Default: the fields of the answer itself. */
      records?: Records;
      present(found: ReadonlyMap<string, Raw>, input: Input, context: PresentContext): Presented;
    }
  | { type: 'png' };

/** A free operation that the gateway answers itself, without upstream. */
export interface LocalOperation<Name extends string = string, Input = unknown>
  extends Described<Name, Input> {
  kind: 'local';
  answer: AnswerData;
  /** See `Responder`. */
  records?: Records;
}

export type Operation = QueuedOperation | LocalOperation;

/** Returns the description of the JSON answer; null for an operation that returns a picture. */
export function jsonAnswerOf(operation: Operation): FieldsOf | null {
  if (operation.kind === 'local') return operation;
  return operation.respond.type === 'json' ? operation.respond : null;
}

export function defineQueued<const Name extends string, Input, Raw>(
  operation: Omit<QueuedOperation<Name, Input, Raw>, 'kind' | 'queue'> & { queue?(input: Input): PoolName },
): QueuedOperation<Name, Input, Raw> {
  const { params, respond, source, pools } = operation;
  return {
    kind: 'queued',
    queue: () => pools[0],
    ...operation,
    params: respond.type === 'json' ? withFields(params, respond) : params,
    source: (input) => source(withoutForm(input)),
  };
}

export function defineLocal<const Name extends string, Input>(
  operation: Omit<LocalOperation<Name, Input>, 'kind'>,
): LocalOperation<Name, Input> {
  return { kind: 'local', ...operation, params: withFields(operation.params, operation) };
}

/** Presents data that the handler has made. */
export function presentFetched(found: ReadonlyMap<string, Record<string, unknown>>): Presented {
  return { data: found.get('') ?? {} };
}

/** The source list of an operation with one source. */
export function oneSource(identity: string, read?: Source['read']): readonly Source[] {
  return [{ key: '', identity, ...(read ? { read } : {}) }];
}

/** How long a cached answer lives. */
export const CACHE_LIFETIME_MS = HOUR_MS;

/**
 * Returns the price of a call that is made once more. That of a file of a week depends on the rows of the week, which its input does
 * not have.
 * @param before what the call has reserved.
 */
export function priceAgain({ isOwn, price }: QueuedOperation, input: unknown, before: number): number {
  return isOwn ? before : price.quote(input);
}

/** Returns the maximum age in milliseconds of a cached answer for this input. */
export function maxAgeMs(operation: QueuedOperation, input: unknown): number {
  const { freshForMs = CACHE_LIFETIME_MS } = operation;
  const hours = freshnessHours(operation, input);
  return hours === null ? freshForMs : Math.min(freshForMs, hours * HOUR_MS);
}

/** Returns how long ago the provider may have updated cached data, in milliseconds. */
export function maxUpdateAgeMs(operation: QueuedOperation, input: unknown): number {
  const hours = freshnessHours(operation, input);
  // A forced call uses no cached data, so its own data is new.
  return hours === null || hours === 0 || !operation.updatedAt ? Number.POSITIVE_INFINITY : hours * HOUR_MS;
}

function freshnessHours({ freshness }: QueuedOperation, input: unknown): number | null {
  const hours = freshness === 'update' ? (input as Record<string, unknown>).update : undefined;
  return typeof hours === 'number' ? hours : null;
}

/** Returns the input with the defaults of the current day. @throws SoukError VALIDATION_FAILED */
export function inputOn<Input>(
  { onDay }: Pick<Described<string, Input>, 'onDay'>,
  input: Input,
  now: number,
): Input {
  return onDay ? onDay(input, utcDay(now)) : input;
}

/** Returns the day of an instant in UTC, YYYY-MM-DD. */
export function utcDay(now: number): string {
  return new Date(now).toISOString().slice(0, 10);
}

/** Returns the input without its freshness, which does not affect the answer. */
export function shownInput(operation: QueuedOperation, input: unknown): unknown {
  if (!operation.freshness) return input;
  const { [operation.freshness]: _, ...shown } = input as Record<string, unknown>;
  return shown;
}
