import { ConnectionError, SoukError, TimeoutError } from './errors.ts';
import { backoff, isLost } from './retry.ts';
import type { Transport } from './transport.ts';

/** The service sends a comment every 15 seconds, or data. */
const IDLE_MS = 60_000;

/** What a stream says when it has ended. */
export interface StreamEnd {
  /** Whether everything was received. Otherwise the stream is opened again. */
  isComplete: boolean;
  /** The pause before that, for a stream that ended as it should; null after a broken connection. */
  pauseMs: number | null;
}

/**
 * Reads a stream that may break: opens it again until it is complete. Gives up after `maxRetries` breaks without an entry
 * between them.
 * @param read yields entries, and opens the stream behind those it has yielded before.
 */
export async function* resuming<Entry>(
  { settings }: Transport,
  read: (hasReceived: () => void) => AsyncGenerator<Entry, StreamEnd>,
  signal: AbortSignal | undefined,
): AsyncGenerator<Entry, void> {
  let breaks = 0;
  for (;;) {
    let pauseMs: number | null = null;
    try {
      const end = yield* read(() => {
        breaks = 0;
      });
      if (end.isComplete) return;
      pauseMs = end.pauseMs;
    } catch (error) {
      if (signal?.aborted) throw signal.reason;
      if (!isLost(error) || breaks >= settings.maxRetries) throw error;
    }
    if (pauseMs === null) breaks += 1;
    await settings.sleep(pauseMs ?? backoff(breaks, settings.random()), signal);
  }
}

/** Yields the complete lines of an answer. @throws ConnectionError if the connection breaks. */
export async function* linesOf(response: Response, signal?: AbortSignal): AsyncGenerator<string, void> {
  let rest = '';
  for await (const text of textOf(response, signal)) {
    const lines = (rest + text).split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) yield line.endsWith('\r') ? line.slice(0, -1) : line;
  }
}

/** A Server-Sent Event. */
export interface ServerEvent {
  event: string;
  data: string;
}

/** Yields the events of an answer. */
export async function* eventsOf(response: Response, signal?: AbortSignal): AsyncGenerator<ServerEvent, void> {
  let event = 'message';
  let data: string[] = [];
  for await (const line of linesOf(response, signal)) {
    const [, field = '', value = ''] = /^(\w*)(?:: ?(.*))?$/s.exec(line) ?? [];
    if (field === 'event') event = value;
    else if (field === 'data') data.push(value);
    else if (line === '' && data.length > 0) {
      yield { event, data: data.join('\n') };
      event = 'message';
      data = [];
    }
  }
}

async function* textOf(response: Response, signal: AbortSignal | undefined): AsyncGenerator<string, void> {
  const decoder = new TextDecoder();
  for await (const bytes of bytesOf(response, signal)) yield decoder.decode(bytes, { stream: true });
}

/** Yields the bytes of an answer as they come. @throws ConnectionError if the connection breaks. */
export async function* bytesOf(
  response: Response,
  signal: AbortSignal | undefined,
): AsyncGenerator<Uint8Array, void> {
  const reader = response.body?.getReader();
  if (!reader) return;
  try {
    for (;;) {
      const { done, value } = await within(IDLE_MS, () => reader.read(), signal);
      if (done) return;
      yield value;
    }
  } finally {
    // Even when the caller stops reading: the connection is closed, and not read to its end.
    await reader.cancel().catch(() => {});
  }
}

/** Waits for a promise. @throws TimeoutError, the reason of the signal, or ConnectionError. */
async function within<Value>(
  limitMs: number,
  start: () => Promise<Value>,
  signal: AbortSignal | undefined,
): Promise<Value> {
  signal?.throwIfAborted();
  let end = () => {};
  const interrupted = new Promise<never>((_, reject) => {
    const timer = setTimeout(() => reject(new TimeoutError(`no data within ${limitMs} ms`)), limitMs);
    const abort = () => reject(signal?.reason);
    signal?.addEventListener('abort', abort);
    end = () => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', abort);
    };
  });
  try {
    return await Promise.race([start(), interrupted]);
  } catch (error) {
    if (error instanceof SoukError || signal?.aborted) throw error;
    throw new ConnectionError('the connection broke', error);
  } finally {
    end();
  }
}
