import { fileNameOf } from './answer.ts';
import type { Calls } from './calls.ts';
import type {
  ErrorCode,
  Methods,
  OperationData,
  OperationName,
  OperationTables,
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

export interface TableOptions<Name extends OperationName = OperationName> extends RequestOptions {
  format: TableFormat;
  /** The rows of the file. Default: the first table that the parameters allow. */
  table?: OperationTables[Name] | undefined;
}

/** A file that is read as it comes. */
export interface TableStream {
  name: string;
  stream: ReadableStream<Uint8Array>;
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
  /** Returns the results so far as a table, as a stream: a file of many products does not fit in the memory. */
  table<Name extends OperationName = OperationName>(
    id: string,
    options: TableOptions<Name>,
  ): Promise<TableStream>;
  /** Waits until the batch has finished. */
  wait(id: string, options?: WaitOptions): Promise<Batch>;
};

const OPEN_TIMEOUT_MS = 60_000;
const TABLE_TIMEOUT_MS = 600_000;
/** Pauses between looks at a batch that has not finished. */
const FIRST_PAUSE_MS = 1_000;
const LONGEST_PAUSE_MS = 10_000;

export function createBatches(calls: Calls, methods: Methods['batches']): Batches {
  const { transport } = calls;
  return {
    ...methods,
    results: (id, options = {}) => results(calls, id, options) as AsyncGenerator<never, void>,

    async table(id, { format, table, signal, headers, timeoutMs = TABLE_TIMEOUT_MS }) {
      const request = { ...requestOf(id), query: { format, table }, timeoutMs, signal, headers };
      const response = await transport.send(request, async (opened) => opened);
      const body = response.body ?? new Blob().stream();
      const stream = body.pipeThrough(
        new TransformStream<Uint8Array, Uint8Array>(),
        signal ? { signal } : {},
      );
      return { name: fileNameOf(response), stream };
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
    const request = { ...requestOf(id), query: { order, cursor }, timeoutMs, signal, headers };
    const response = await transport.send(request, async (opened) => opened);
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

function requestOf(id: string) {
  const path = `/api/batches/${encodeURIComponent(id)}/results`;
  return { method: 'GET', path, repeats: 'always' } as const;
}

function longer(pauseMs: number): number {
  return Math.min(LONGEST_PAUSE_MS, pauseMs * 1.5);
}
