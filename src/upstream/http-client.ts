import type { Readable } from 'node:stream';
import { createBrotliDecompress, createGunzip, createInflate } from 'node:zlib';
import { Agent, type Dispatcher, request } from 'undici';
import { stringifyJson } from '../platform/json.ts';

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
  body: Buffer;
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
      const response = await request(url, {
        method,
        dispatcher: agent,
        signal,
        headers: {
          'accept-encoding': 'gzip, deflate, br',
          ...(content ? { 'content-type': content.type } : {}),
          ...headers,
        },
        ...(content ? { body: content.text } : {}),
      });
      return {
        status: response.statusCode,
        contentType: single(response.headers['content-type']) ?? '',
        setCookies: [response.headers['set-cookie'] ?? []].flat(),
        location: single(response.headers.location) ?? null,
        retryAfter: single(response.headers['retry-after']) ?? null,
        body: headOnly ? discard(response) : await read(response, maxBytes),
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

/** Decompresses while reading, so that a decompression bomb is stopped at the limit. */
async function read(response: Dispatcher.ResponseData, maxBytes: number): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  const stream = decompressed(response);
  try {
    for await (const chunk of stream) {
      bytes += (chunk as Buffer).length;
      if (bytes > maxBytes) throw new BodyTooLargeError(`The answer is larger than ${maxBytes} bytes.`);
      chunks.push(chunk as Buffer);
    }
  } catch (error) {
    // After a decompression error the rest stays unread, which would keep the connection busy for ever.
    discard(response);
    throw error;
  }
  return Buffer.concat(chunks);
}

/** Closes the connection without reading the body. */
function discard({ body }: Dispatcher.ResponseData): Buffer {
  body.on('error', () => {});
  body.destroy();
  return Buffer.alloc(0);
}

function decompressed({ headers, body }: Dispatcher.ResponseData): Readable {
  const decoder = decoderOf(single(headers['content-encoding'])?.toLowerCase());
  if (!decoder) return body;
  body.on('error', (error) => decoder.destroy(error));
  return body.pipe(decoder);
}

function decoderOf(encoding: string | undefined) {
  switch (encoding) {
    case 'gzip':
    case 'x-gzip':
      return createGunzip();
    case 'deflate':
      return createInflate();
    case 'br':
      return createBrotliDecompress();
    default:
      return null;
  }
}

function single(value: string | string[] | undefined): string | undefined {
  return Array.isArray(value) ? value[0] : value;
}
