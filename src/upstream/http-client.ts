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
  /** Aborts down to the socket. */
  signal: AbortSignal;
  /** Of the body as it is after decompression. */
  maxBytes: number;
  /** Only the head is wanted: the body of the answer stays empty, and its connection is given up. */
  headOnly?: boolean;
}

export interface HttpResponse {
  status: number;
  contentType: string;
  /** Of the `Set-Cookie` headers. */
  setCookies: readonly string[];
  /** Where a redirect leads. */
  location: string | null;
  /** The `Retry-After` header as it came. */
  retryAfter: string | null;
  body: Buffer;
}

/** A pool of connections to upstream servers that are kept open. */
export interface HttpClient {
  /**
   * Sends a request and reads the whole answer, decompressed. Redirects are not followed: the address may hold a key.
   * @throws BodyTooLargeError, or whatever the network or the signal throws.
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
    // How long an answer may take is for the caller's signal to say.
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

/** Decompresses while reading, so that a small body that inflates without end is stopped at the limit. */
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
    // Of what cannot be unpacked nobody reads the rest, and its connection would wait for that for ever.
    discard(response);
    throw error;
  }
  return Buffer.concat(chunks);
}

/** Hangs up. */
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
