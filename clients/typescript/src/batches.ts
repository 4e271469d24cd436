import type { Calls } from './calls.ts';
import { type FileStream, openFile, type TableOptions } from './files.ts';
import type {
  ErrorCode,
  Methods,
  OperationData,
  OperationName,
  Schemas,
  TableFormat,
} from './generated/operations.ts';
import { parseJson } from './json.ts';
import type { RequestOptions } from './method-types.ts';
import { linesOf, resuming, type StreamEnd } from './streams.ts';

export type Batch = Schemas['Batch'];

/** The result of one item of a batch. */
export type BatchResult<Name extends OperationName = OperationName> =
  | {
      index: number;
      params: unknown;
      code: '0000';
      data: OperationData[Name];
      metadata?: Record<string, unknown>;
    }
  | { index: number; params: unknown; code: ErrorCode; msg: string; metadata?: Record<string, unknown> };

export interface ResultOptions extends RequestOptions {
  /** item: in the order of the items; finished: in the order in which they finish. */
  order?: 'item' | 'finished' | undefined;
  /** Index of the last item that was received: continues behind it, in the same order. */
  cursor?: number | undefined;
  /** false: ends with the results so far. Default: waits for further results until the batch has finished. */
  follow?: boolean | undefined;
}

/** A value that has changed since the run before. */
export interface BatchChange {
  /** Index of the item. */
  index: number;
  /** The row that has changed, such as an ASIN. */
  key: string;
  column: string;
  before: unknown;
  after: unknown;
}

export interface WaitOptions extends RequestOptions {
  /** Called with the batch after each look at it. */
  onProgress?: ((batch: Batch) => void) | undefined;
}

/** Methods for batches. */
export type Batches = Methods['batches'] & {
  /** Yields the results of a batch. Continues behind the last result after a broken connection. */
  results<Name extends OperationName = OperationName>(
    id: string,
    options?: ResultOptions,
  ): AsyncGenerator<BatchResult<Name>, void>;
  /** Opens the results so far as a table. A file of many products does not fit in the memory. */
  table<Name extends OperationName = OperationName>(
    id: string,
    options: TableOptions<Name>,
  ): Promise<FileStream>;
  /** Yields what has changed in a run of a schedule with `onlyChanges`, or opens it as a table. */
  changes(id: string, options: RequestOptions & { format: TableFormat }): Promise<FileStream>;
  changes(id: string, options?: RequestOptions): AsyncGenerator<BatchChange, void>;
  /** Waits until the batch has finished. */
  wait(id: string, options?: WaitOptions): Promise<Batch>;
};

const OPEN_TIMEOUT_MS = 60_000;
/** Pauses between looks at a batch that has not finished. */
const FIRST_PAUSE_MS = 1_000;
const LONGEST_PAUSE_MS = 10_000;

export function createBatches(calls: Calls, methods: Methods['batches']): Batches {
  const { transport } = calls;
  return {
    ...methods,
    results: (id, options = {}) => results(calls, id, options) as AsyncGenerator<never, void>,

    table: (id, { format, table, ...options }) =>
      openFile(calls, resultsPath(id), { ...options, query: { format, table } }),

    changes: (id: string, given?: RequestOptions & { format?: TableFormat }) => {
      const { format, ...options } = given ?? {};
      const path = `/api/batches/${encodeURIComponent(id)}/changes`;
      return (
        format ? openFile(calls, path, { ...options, query: { format } }) : changes(calls, path, options)
      ) as never;
    },

    async wait(id, { onProgress, ...options } = {}) {
      for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = longer(pauseMs)) {
        const batch = await methods.get(id, options);
        onProgress?.(batch);
        if (batch.finishedAt !== null) return batch;
        await transport.settings.sleep(pauseMs, options.signal);
      }
    },
  };
}

function results(
  { transport }: Calls,
  id: string,
  options: ResultOptions,
): AsyncGenerator<BatchResult, void> {
  const { signal, headers, timeoutMs = OPEN_TIMEOUT_MS, order, follow = true } = options;
  let { cursor } = options;
  let pauseMs = FIRST_PAUSE_MS;
  async function* read(hasReceived: () => void): AsyncGenerator<BatchResult, StreamEnd> {
    const path = resultsPath(id);
    const request = { method: 'GET', path, query: { order, cursor }, timeoutMs, signal, headers } as const;
    const response = await transport.send({ ...request, repeats: 'always' }, async (opened) => opened);
    pauseMs = longer(pauseMs);
    for await (const line of linesOf(response, signal)) {
      const result = parseJson(line) as BatchResult;
      hasReceived();
      cursor = result.index;
      pauseMs = FIRST_PAUSE_MS;
      yield result;
    }
    const isComplete = !follow || response.headers.get('x-batch-finished') === 'true';
    return { isComplete, pauseMs };
  }
  return resuming(transport, read, signal);
}

async function* changes(
  { transport }: Calls,
  path: string,
  { signal, headers, timeoutMs = OPEN_TIMEOUT_MS }: RequestOptions,
): AsyncGenerator<BatchChange, void> {
  const request = { method: 'GET', path, repeats: 'always', timeoutMs, signal, headers } as const;
  const response = await transport.send(request, async (opened) => opened);
  for await (const line of linesOf(response, signal)) yield parseJson(line) as BatchChange;
}

function resultsPath(id: string): string {
  return `/api/batches/${encodeURIComponent(id)}/results`;
}

function longer(pauseMs: number): number {
  return Math.min(LONGEST_PAUSE_MS, pauseMs * 1.5);
}
