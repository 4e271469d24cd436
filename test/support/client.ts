import { gunzipSync } from 'node:zlib';
import { Agent, request } from 'undici';

export interface Reply {
  status: number;
  headers: Record<string, string>;
  body: Buffer;
  /** The text; `body` is as it was sent, compressed or not. */
  text: string;
  /** The parsed envelope. */
  json: Envelope;
}

export interface Envelope {
  code: string;
  msg: string;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into answers of every shape.
  data: any;
  metadata?: Record<string, unknown>;
}

export interface RequestOptions {
  headers?: Record<string, string | string[]>;
  method?: string;
  /** Sent as JSON, unless it is text or bytes. */
  body?: unknown;
  signal?: AbortSignal;
}

/** A customer with a key, over real HTTP. */
export interface Client {
  key: string;
  baseUrl: string;
  get(path: string, options?: RequestOptions): Promise<Reply>;
  post(path: string, body: unknown, options?: RequestOptions): Promise<Reply>;
  /** Sends no key of its own. */
  raw(path: string, options?: RequestOptions): Promise<Reply>;
}

const agent = new Agent({ connections: 256, keepAliveTimeout: 1_000 });

export function createClient(baseUrl: string, key: string): Client {
  async function send(path: string, options: RequestOptions): Promise<Reply> {
    const { body } = options;
    const isRaw = body === undefined || typeof body === 'string' || Buffer.isBuffer(body);
    const response = await request(`${baseUrl}${path}`, {
      dispatcher: agent,
      method: (options.method ?? 'GET') as 'GET',
      headers: { ...(isRaw ? {} : { 'content-type': 'application/json' }), ...options.headers },
      ...(body === undefined ? {} : { body: isRaw ? body : JSON.stringify(body) }),
      ...(options.signal ? { signal: options.signal } : {}),
    });
    const bytes = Buffer.from(await response.body.arrayBuffer());
    const isCompressed = response.headers['content-encoding'] === 'gzip';
    const textOf = () => (isCompressed ? gunzipSync(bytes) : bytes).toString('utf8');
    return {
      status: response.statusCode,
      headers: Object.fromEntries(
        Object.entries(response.headers).map(([name, value]) => [name, String(value)]),
      ),
      body: bytes,
      get text() {
        return textOf();
      },
      get json() {
        return JSON.parse(textOf()) as Envelope;
      },
    };
  }
  const withKey = (options: RequestOptions = {}) => ({
    ...options,
    headers: { 'x-api-key': key, ...options.headers },
  });
  return {
    key,
    baseUrl,
    get: (path, options) => send(path, withKey(options)),
    post: (path, body, options) => send(path, { ...withKey(options), method: 'POST', body }),
    raw: (path, options = {}) => send(path, options),
  };
}
