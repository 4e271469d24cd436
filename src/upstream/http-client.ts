import { Agent, request } from 'undici';
import { SoukError } from '../platform/errors.ts';
import { stringifyJson } from '../platform/json.ts';
import { type Tracing, traced } from '../platform/telemetry/tracing.ts';
import { type Compressed, type Compression, decompress, TooLargeError } from '../results/compression.ts';

/** A call that can be cancelled while its requests have not been sent. */
export interface Cancellable {
  /** Aborts at the deadline, also a request that was sent. */
  signal: AbortSignal;
  /** Aborts when the call is cancelled: nothing more is sent, and what was sent runs to its end. */
  cancelled?: AbortSignal;
}

/** @throws the reason of a signal that has aborted. */
export function throwIfAborted({ signal, cancelled }: Cancellable): void {
  signal.throwIfAborted();
  cancelled?.throwIfAborted();
}

/** Creates the signal for a wait before a request is sent. Combining signals takes time, so a call that does not wait has none. */
export function beforeSending({ signal, cancelled }: Cancellable): AbortSignal {
  return cancelled ? AbortSignal.any([signal, cancelled]) : signal;
}

/** The provider rejected a request because of a value in it. A request for a part of its values may succeed. */
export class RequestRejected extends SoukError {}

/** Records each upstream request as a span, without its query, which holds the operator's key. */
export function tracedHttpClient(http: HttpClient, tracing: Tracing): HttpClient {
  return {
    send: (request) => {
      const { method, url } = request;
      const attributes = {
        'http.request.method': method,
        'server.address': url.hostname,
        'url.path': url.pathname,
      };
      return traced(
        tracing,
        { name: `${method} ${url.pathname}`, kind: 'client', attributes },
        async (span) => {
          const response = await http.send(request);
          span?.set({ 'http.response.status_code': response.status });
          if (response.status >= 400) span?.fail(String(response.status));
          return response;
        },
      );
    },
    close: () => http.close(),
  };
}

export interface HttpRequest {
  method: 'GET' | 'POST';
  url: URL;
  /** Sent as JSON. */
  body?: unknown;
  /** Sent as a form, instead of `body`. */
  form?: Record<string, string>;
  headers?: Record<string, string>;
  /** Aborts the request and closes its socket. */
  signal: AbortSignal;
  /** Maximum size of the decompressed body. */
  maxBytes: number;
  /** Reads only the head: the body of the answer stays empty, and the connection is closed. */
  headOnly?: boolean;
}

export interface HttpResponse {
  status: number;
  contentType: string;
  /** Values of the `Set-Cookie` headers. */
  setCookies: readonly string[];
  /** The `Location` header of a redirect. */
  location: string | null;
  /** The `Retry-After` header, unparsed. */
  retryAfter: string | null;
  /** The decompressed body. */
  body: Buffer;
  /** The body as it was sent, if it was compressed in a form that can be stored. */
  compressed: Compressed | null;
}

/** An HTTP client with a pool of persistent connections to upstream servers. */
export interface HttpClient {
  /**
   * Sends a request and reads the full decompressed answer. Redirects are not followed, because the address may hold a key.
   * @throws BodyTooLargeError, network errors, and the reason of the signal.
   */
  send(request: HttpRequest): Promise<HttpResponse>;
  close(): Promise<void>;
}

export class BodyTooLargeError extends Error {}

const CONNECT_TIMEOUT_MS = 10_000;

export function createHttpClient(options: { connections: number } = { connections: 64 }): HttpClient {
  const agent = new Agent({
    connections: options.connections,
    connect: { timeout: CONNECT_TIMEOUT_MS },
    keepAliveTimeout: 30_000,
    // The caller's signal limits the time of an answer.
    headersTimeout: 0,
    bodyTimeout: 0,
  });
  return {
    async send({ method, url, body, form, headers, signal, maxBytes, headOnly = false }) {
      const content = contentOf(body, form);
      const answer = await request(url, {
        dispatcher: agent,
        method,
        headers: {
          'accept-encoding': 'gzip, deflate, br',
          ...(content ? { 'content-type': content.type } : {}),
          ...headers,
        },
        body: content?.text ?? null,
        signal,
      });
      // A body that is not read to its end reports that.
      answer.body.on('error', () => {});
      if (headOnly) answer.body.destroy();
      const encoding = encodingOf(answer.headers['content-encoding']);
      const sent = headOnly ? Buffer.alloc(0) : await read(answer.body, encoding, maxBytes);
      const { 'content-type': contentType, 'set-cookie': setCookies, location } = answer.headers;
      return {
        status: answer.statusCode,
        contentType: single(contentType) ?? '',
        setCookies: [setCookies ?? []].flat(),
        location: single(location) ?? null,
        retryAfter: single(answer.headers['retry-after']) ?? null,
        body: await decompressed(sent, sent.length > 0 ? encoding : null, maxBytes),
        compressed:
          sent.length > 0 && (encoding === 'gzip' || encoding === 'br') ? { encoding, bytes: sent } : null,
      };
    },
    close: () => agent.close(),
  };
}

function contentOf(body: unknown, form: Record<string, string> | undefined) {
  if (form) {
    const type = 'application/x-www-form-urlencoded;charset=UTF-8';
    return { type, text: new URLSearchParams(form).toString() };
  }
  if (body === undefined) return null;
  return { type: 'application/json; charset=UTF-8', text: stringifyJson(body) };
}

/** Reads a body. An error closes the socket. */
async function read(
  body: AsyncIterable<Buffer>,
  encoding: Compression | null,
  maxBytes: number,
): Promise<Buffer> {
  const pieces: Buffer[] = [];
  let bytes = 0;
  for await (const piece of body) {
    bytes += piece.length;
    if (bytes > maxBytes) throw tooLarge(maxBytes);
    if (pieces.length === 0 && encoding === 'gzip') requireGzip(piece);
    pieces.push(piece);
  }
  return Buffer.concat(pieces);
}

/** Gzip begins with these bytes (RFC 1952). */
const GZIP_START = Buffer.from([0x1f, 0x8b]);

/** Fails at the beginning of a body without gzip, so that a call does not wait for the rest of it. */
function requireGzip(start: Buffer): void {
  const length = Math.min(start.length, GZIP_START.length);
  if (!start.subarray(0, length).equals(GZIP_START.subarray(0, length)))
    throw new Error('The body is not compressed with gzip.');
}

/** A decompression bomb is stopped at the limit. */
async function decompressed(sent: Buffer, encoding: Compression | null, maxBytes: number): Promise<Buffer> {
  if (!encoding) return sent;
  try {
    return await decompress({ encoding, bytes: sent }, maxBytes);
  } catch (error) {
    throw error instanceof TooLargeError ? tooLarge(maxBytes) : error;
  }
}

function encodingOf(header: string | string[] | undefined): Compression | null {
  switch (single(header)?.toLowerCase()) {
    case 'gzip':
    case 'x-gzip':
      return 'gzip';
    case 'deflate':
      return 'deflate';
    case 'br':
      return 'br';
    default:
      return null;
  }
}

function tooLarge(maxBytes: number): BodyTooLargeError {
  return new BodyTooLargeError(`The answer is larger than ${maxBytes} bytes.`);
}

function single(value: string | string[] | undefined): string | undefined {
  return Array.isArray(value) ? value[0] : value;
}
