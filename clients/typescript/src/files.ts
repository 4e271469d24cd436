import { fileNameOf } from './answer.ts';
import type { Calls } from './calls.ts';
import { SoukError } from './errors.ts';
import type { OperationName, OperationTables, TableFormat } from './generated/operations.ts';
import type { RequestOptions } from './method-types.ts';
import { bytesOf, resuming, type StreamEnd } from './streams.ts';
import type { Request } from './transport.ts';

export interface TableOptions<Name extends OperationName = OperationName> extends RequestOptions {
  format: TableFormat;
  /** The rows of the file. Default: the first table that the parameters allow. */
  table?: OperationTables[Name] | undefined;
}

/** A file that is read as it comes. */
export interface FileStream {
  name: string;
  stream: ReadableStream<Uint8Array>;
}

/** Methods for files that jobs have written. */
export interface Files {
  /** Opens a file. Its stream continues after a broken connection. */
  get(id: string, options?: RequestOptions): Promise<FileStream>;
}

/** A table of a large batch is written before its first byte can be read in parts. */
const OPEN_TIMEOUT_MS = 600_000;

export function createFiles(calls: Calls): Files {
  return { get: (id, options) => openFile(calls, `/api/files/${encodeURIComponent(id)}`, options) };
}

/** Opens a file as a stream. After a broken connection, the stream continues with the rest, if the answer had an ETag. */
export async function openFile(
  { transport }: Calls,
  path: string,
  options: RequestOptions & Pick<Request, 'query'> = {},
): Promise<FileStream> {
  const { query = {}, signal: given, headers, timeoutMs = OPEN_TIMEOUT_MS } = options;
  const cancelled = new AbortController();
  const signal = given ? AbortSignal.any([given, cancelled.signal]) : cancelled.signal;
  const open = (part: Record<string, string> = {}) => {
    const request = { path, query, timeoutMs, signal, headers: { ...headers, ...part } };
    return transport.send({ method: 'GET', repeats: 'always', ...request }, async (opened) => opened);
  };
  const first = await open();
  // Parts are of the bytes without compression, and have the tag of those.
  const tag = first.headers.get('etag')?.replace(/-gzip"$/, '"');
  let unread: Response | null = first;
  let received = 0;

  async function* read(hasReceived: () => void): AsyncGenerator<Uint8Array, StreamEnd> {
    const response = unread ?? (await open({ range: `bytes=${received}-`, 'if-range': tag ?? '' }));
    if (!unread && response.status !== 206) {
      await response.body?.cancel();
      throw new SoukError('the file has changed since its download began', { code: 'UNEXPECTED_ANSWER' });
    }
    unread = null;
    for await (const bytes of bytesOf(response, signal)) {
      hasReceived();
      received += bytes.length;
      yield bytes;
    }
    return { isComplete: true, pauseMs: null };
  }

  const pieces = tag === undefined ? bytesOf(first, signal) : resuming(transport, read, signal);
  const stream = new ReadableStream<Uint8Array>({
    async pull(controller) {
      const { done, value } = await pieces.next();
      if (done) controller.close();
      else controller.enqueue(value);
    },
    async cancel(reason) {
      cancelled.abort(reason);
      await pieces.return().catch(() => {});
    },
  });
  return { name: fileNameOf(first), stream };
}
