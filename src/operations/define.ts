import type { z } from 'zod';
import type { ErrorKind } from '../platform/errors.ts';
import type { ReportsNeeded } from './brand-analytics/keywords/reports-needed.ts';
import type { PoolName } from './pools.ts';
import type { Toolset } from './toolsets.ts';

/** Where a request to a route carries its parameters. */
export interface RawRequest {
  query: Record<string, unknown>;
  body: unknown;
  /** What stands in the address for `:name`. */
  params: Record<string, unknown>;
}

export interface Route {
  method: 'GET' | 'POST';
  path: string;
  /** Takes the parameters out of the request; without it a GET's are its query and a POST's its body. */
  decode?: (request: RawRequest) => unknown;
  /** The query parameter that holds all parameters of a GET as JSON, where one does. */
  jsonParameter?: string;
  /** Several operations share a path; the query parameter `type` tells which is meant, the first where it is absent. */
  type?: string;
  /** The error a body that is not JSON gets; VALIDATION_FAILED unless the specification says otherwise. */
  invalidJsonKind?: 'SELECTION_INVALID';
}

interface Described<Name extends string, Input> {
  name: Name;
  /** One sentence for the documentation. */
  summary: string;
  /** The first is canonical; the others are aliases and share everything with it. */
  routes: readonly [Route, ...Route[]];
  /** Turns what a caller sends into the canonical input. */
  params: z.ZodType<Input>;
  /**
   * Fills in what depends on the present day, and refuses days that are out of reach. Given its own result it gives the
   * same, unless the day is over.
   * @param today YYYY-MM-DD in UTC.
   * @throws SoukError VALIDATION_FAILED
   */
  onDay?(input: Input, today: string): Input;
  /** Name of the equivalent tool for agents: group, verb, noun. */
  tool: string;
  toolset: Toolset;
  /** What the tool has for parameters that are not sent, where that differs from the other faces. */
  toolDefaults?: Partial<Input>;
  /** The error a bad request gets; VALIDATION_FAILED unless the specification says otherwise. */
  invalidKind?: 'SELECTION_INVALID';
  /** Errors that only operations of its kind have, for the documentation. */
  errors?: readonly ErrorKind[];
}

/** One thing an operation needs from upstream. */
export interface Source {
  /** Its name within the call: the ASIN of a product, '' where there is only one. */
  key: string;
  /** Everything upstream is asked, and nothing else: calls with the same identity share one fetch for an hour. */
  identity: string;
  /** Where upstream refuses, what was fetched within this time will do, and the answer says how old it is. */
  staleForMs?: number;
}

/** What upstream wants to be asked before it gives data, such as a token: its age says nothing about the data's. */
export interface Preliminary {
  identity: string;
  freshForMs: number;
}

export interface Presented {
  data: Record<string, unknown>;
  metadata?: Record<string, unknown>;
}

export interface PresentContext {
  /** Unix milliseconds. */
  now: number;
}

/** An operation that is done by a worker and costs units. */
export interface QueuedOperation<Name extends string = string, Input = unknown, Raw = unknown>
  extends Described<Name, Input> {
  kind: 'queued';
  price: {
    /** Units reserved before, and charged unless `settle` says less. */
    quote(input: Input): number;
    /** The price in words, for the documentation. */
    text: string;
    /** Units charged in the end; never more than the quote. */
    settle?(input: Input, presented: Presented): number;
  };
  /** The pools it may use, for the documentation; `queue` chooses. */
  pools: readonly [PoolName, ...PoolName[]];
  queue(input: Input): PoolName;
  /** What its handler asks for first, and for most operations all it asks for. */
  source(input: Input): readonly Source[];
  /**
   * The input field that says, in hours, how old an answer may be. It decides whether a cached answer will do and is
   * no part of what the answer shows. 0 always asks upstream.
   */
  freshness?: 'update';
  /** How long a cached answer will do, where that is less than an hour. */
  freshForMs?: number;
  /**
   * The reports we keep that the answer is made from. A week that is needed and not loaded refuses the call before anything
   * is charged; and an answer is shared only for as long as none of these reports is imported anew.
   */
  reports?(input: Input): ReportsNeeded;
  respond: Responder<Input, Raw>;
  /** Items of a batch that differ in this list alone are done by one call. */
  pack?: Pack<Input>;
  /** The answer as a table, where it is a list of flat records. */
  table?: Table<Input>;
}

/**
 * The envelope's `data` as documentation and tools show it, with units and without `fromCache`, which the others have
 * anyway. Data is not checked against it when it is sent; objects with fields of the provider are loose.
 */
export type AnswerData = z.ZodObject;

/** How calls are put together, and their answer taken apart. */
export interface Pack<Input> {
  /** Of the canonical input: a list of texts. */
  field: keyof Input & string;
  /** The longest list of one call; 1 where calls with this input cannot be put together. */
  max(input: Input): number;
  /** What a call for `part` would have answered, taken out of the data of a larger one. */
  pick(data: Record<string, unknown>, part: Input): Record<string, unknown>;
}

export interface Table<Input> {
  /** Names of the columns, or what has to be asked for so that there are any. */
  columns(input: Input): { columns: readonly string[] } | { needs: string };
  rows(data: Record<string, unknown>): readonly Record<string, unknown>[];
}

/** How the raw data becomes the answer. A source that upstream has nothing for is absent from `found`. */
export type Responder<Input, Raw> =
  | {
      type: 'json';
      answer: AnswerData;
      present(found: ReadonlyMap<string, Raw>, input: Input, context: PresentContext): Presented;
    }
  | { type: 'png' };

/** An operation that is answered on the spot, without upstream and without units. */
export interface LocalOperation<Name extends string = string, Input = unknown>
  extends Described<Name, Input> {
  kind: 'local';
  answer: AnswerData;
}

export type Operation = QueuedOperation | LocalOperation;

export function defineQueued<const Name extends string, Input, Raw>(
  operation: Omit<QueuedOperation<Name, Input, Raw>, 'kind'>,
): QueuedOperation<Name, Input, Raw> {
  return { kind: 'queued', ...operation };
}

export function defineLocal<const Name extends string, Input>(
  operation: Omit<LocalOperation<Name, Input>, 'kind'>,
): LocalOperation<Name, Input> {
  return { kind: 'local', ...operation };
}

/** The single source of an operation that asks upstream one thing. */
export function oneSource(identity: string): readonly Source[] {
  return [{ key: '', identity }];
}

/** How long a cached answer lives. */
export const CACHE_LIFETIME_MS = 3_600_000;

/** The age in milliseconds below which a cached answer will do for this input. */
export function maxAgeMs(operation: QueuedOperation, input: unknown): number {
  const { freshness, freshForMs = CACHE_LIFETIME_MS } = operation;
  const hours = freshness && (input as Record<string, unknown>)[freshness];
  return typeof hours === 'number' ? Math.min(freshForMs, hours * 3_600_000) : freshForMs;
}

/** The input with what the present day adds to it. @throws SoukError VALIDATION_FAILED */
export function inputOn<Input>(
  { onDay }: Pick<Described<string, Input>, 'onDay'>,
  input: Input,
  now: number,
): Input {
  return onDay ? onDay(input, new Date(now).toISOString().slice(0, 10)) : input;
}

/** The part of an input that shows in the answer: all but its freshness. */
export function shownInput(operation: QueuedOperation, input: unknown): unknown {
  if (!operation.freshness) return input;
  const { [operation.freshness]: _, ...shown } = input as Record<string, unknown>;
  return shown;
}
