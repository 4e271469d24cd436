import type { IncomingHttpHeaders } from 'node:http';
import { Agent } from 'undici';
import { stringifyJson } from '../platform/json.ts';
import { type Compressed, type Compression, decompress, TooLargeError } from '../results/compression.ts';
import { exchange } from './http-exchange.ts';

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
      const answer = new HttpAnswer(maxBytes, headOnly);
      await exchange(agent, {
        request: {
          origin: url.origin,
          path: url.pathname + url.search,
          method,
          headers: {
            'accept-encoding': 'gzip, deflate, br',
            ...(content ? { 'content-type': content.type } : {}),
            ...headers,
          },
          ...(content ? { body: content.text } : {}),
        },
        signal,
        onHead: (status, received) => answer.begin(status, received),
        onData: (piece) => answer.add(piece),
      });
      return answer.response();
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

/** Collects the answer to a request. */
class HttpAnswer {
  readonly #maxBytes: number;
  readonly #headOnly: boolean;
  #status = 0;
  #headers: IncomingHttpHeaders = {};
  #encoding: Compression | null = null;
  readonly #pieces: Buffer[] = [];
  #bytes = 0;

  constructor(maxBytes: number, headOnly: boolean) {
    this.#maxBytes = maxBytes;
    this.#headOnly = headOnly;
  }

  /** @returns whether the body is read. */
  begin(status: number, headers: IncomingHttpHeaders): boolean {
    this.#status = status;
    this.#headers = headers;
    this.#encoding = encodingOf(headers['content-encoding']);
    return !this.#headOnly;
  }

  add(piece: Buffer): void {
    this.#bytes += piece.length;
    if (this.#bytes > this.#maxBytes) throw tooLarge(this.#maxBytes);
    if (this.#pieces.length === 0 && this.#encoding === 'gzip') requireGzip(piece);
    this.#pieces.push(piece);
  }

  async response(): Promise<HttpResponse> {
    const { 'content-type': contentType, 'set-cookie': setCookies, location } = this.#headers;
    const sent = Buffer.concat(this.#pieces);
    const encoding = sent.length > 0 ? this.#encoding : null;
    return {
      status: this.#status,
      contentType: single(contentType) ?? '',
      setCookies: [setCookies ?? []].flat(),
      location: single(location) ?? null,
      retryAfter: single(this.#headers['retry-after']) ?? null,
      body: await decompressed(sent, encoding, this.#maxBytes),
      compressed: encoding === 'gzip' || encoding === 'br' ? { encoding, bytes: sent } : null,
    };
  }
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
