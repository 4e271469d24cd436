import { ConnectionError, errorOf, SoukError, TimeoutError } from './errors.ts';
import type { ErrorCode } from './generated/operations.ts';
import { parseJson, stringifyJson } from './json.ts';
import { isLost, pauseBeforeRetry, type RetrySettings } from './retry.ts';
import { VERSION } from './version.ts';

/** A request to the service. */
export interface Request {
  method: string;
  path: string;
  query?: Readonly<Record<string, unknown>>;
  body?: unknown;
  headers?: Readonly<Record<string, string>> | undefined;
  repeats: 'charged' | 'always' | 'never';
  timeoutMs: number;
  signal?: AbortSignal | undefined;
}

/** What the transport takes from its surroundings; tests replace it. */
export interface Surroundings {
  fetch: typeof fetch;
  now(): number;
  random(): number;
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
}

export interface TransportSettings extends RetrySettings, Surroundings {
  baseUrl: string;
  apiKey: string;
}

/** Reads an answer. @param wasLost whether an earlier attempt may have reached the service. */
export type ReadAnswer<Value> = (response: Response, wasLost: boolean) => Promise<Value>;

/** Sends requests, and repeats them when that is useful and safe. */
export class Transport {
  readonly settings: TransportSettings;

  constructor(settings: TransportSettings) {
    this.settings = settings;
  }

  /** @throws SoukError, or the reason of an aborted signal. */
  async send<Value>(request: Request, read: ReadAnswer<Value>): Promise<Value> {
    const { now, random, sleep } = this.settings;
    let pausedMs = 0;
    let lostAt: number | null = null;
    for (let attempts = 1; ; attempts += 1) {
      const startedAt = now();
      try {
        return await this.#attempt(request, (response) => read(response, lostAt !== null));
      } catch (error) {
        if (request.signal?.aborted) throw request.signal.reason;
        if (isLost(error)) lostAt ??= startedAt;
        const sinceLostMs = lostAt === null ? null : now() - lostAt;
        const { repeats } = request;
        const failed = { error, attempts, repeats, sinceLostMs, pausedMs };
        const pauseMs = pauseBeforeRetry(failed, this.settings, random());
        if (pauseMs === null) throw error;
        await sleep(pauseMs, request.signal);
        pausedMs += pauseMs;
      }
    }
  }

  async #attempt<Value>(request: Request, read: (response: Response) => Promise<Value>): Promise<Value> {
    const { timeoutMs, signal } = request;
    signal?.throwIfAborted();
    const controller = new AbortController();
    const timeout = new TimeoutError(`no answer within ${timeoutMs} ms`);
    const timer = setTimeout(() => controller.abort(timeout), timeoutMs);
    const abort = () => controller.abort(signal?.reason);
    signal?.addEventListener('abort', abort);
    try {
      const response = await this.#fetch(request, controller.signal);
      if (!response.ok) throw await readError(response);
      return await read(response);
    } catch (error) {
      if (error instanceof SoukError) throw error;
      if (controller.signal.aborted) throw controller.signal.reason;
      throw new ConnectionError(`the connection failed: ${messageOf(error)}`, error);
    } finally {
      clearTimeout(timer);
      signal?.removeEventListener('abort', abort);
    }
  }

  #fetch({ method, path, query = {}, body, headers }: Request, signal: AbortSignal): Promise<Response> {
    const { baseUrl, apiKey, fetch } = this.settings;
    return fetch(`${baseUrl}${path}${queryOf(query)}`, {
      method,
      signal,
      headers: {
        authorization: `Bearer ${apiKey}`,
        'user-agent': `souk-client/${VERSION}`,
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body === undefined ? {} : { body: stringifyJson(body) }),
    });
  }
}

/** Waits. @throws the reason of the signal when it is aborted. */
export function sleep(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason);
    const abort = () => {
      clearTimeout(timer);
      reject(signal?.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', abort);
      resolve();
    }, ms);
    signal?.addEventListener('abort', abort, { once: true });
  });
}

/** Returns the seconds or the date of `Retry-After` in milliseconds from now. */
export function retryAfterMs(headers: Headers): number | null {
  const value = headers.get('retry-after');
  if (!value) return null;
  const ms = /^\d+$/.test(value) ? Number(value) * 1_000 : Date.parse(value) - Date.now();
  return Number.isNaN(ms) ? null : Math.max(0, ms);
}

/** Writes a query as the service reads it: lists with commas, without fields that are undefined or null. */
function queryOf(query: Readonly<Record<string, unknown>>): string {
  const given = Object.entries(query).filter(([, value]) => value !== undefined && value !== null);
  const text = new URLSearchParams(given.map(([name, value]) => [name, String(value)])).toString();
  return text && `?${text}`;
}

async function readError(response: Response): Promise<SoukError> {
  const { status, headers } = response;
  const envelope = parsedEnvelope(await response.text());
  const facts = {
    code: (envelope?.code ?? 'UNEXPECTED_ANSWER') as ErrorCode,
    status,
    requestId: headers.get('x-request-id'),
    metadata: envelope?.metadata ?? {},
    retryAfterMs: retryAfterMs(headers),
  };
  return errorOf(facts, envelope?.msg ?? `not an answer of the service: status ${status}`);
}

interface ErrorEnvelope {
  code: string;
  msg: string;
  metadata?: Record<string, unknown>;
}

/** Returns null for the page of a proxy. */
function parsedEnvelope(text: string): ErrorEnvelope | null {
  try {
    const envelope = parseJson(text) as ErrorEnvelope | null;
    return typeof envelope?.code === 'string' ? envelope : null;
  } catch {
    return null;
  }
}

function messageOf(error: unknown): string {
  const { message, cause } = error as { message?: string; cause?: { message?: string } };
  return cause?.message ?? message ?? String(error);
}
