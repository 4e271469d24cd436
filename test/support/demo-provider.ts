import type { AddressInfo } from 'node:net';
import { request } from 'undici';
import { buildDemoProvider } from '../../demo/server.ts';
import { readDemoSettings } from '../../demo/settings.ts';
import { TestClock } from './clock.ts';

/** A key the demo provider takes. */
export const DEMO_KEY = 'any-key-of-sixteen-or-more';

export interface DemoReply {
  status: number;
  headers: Record<string, string | string[] | undefined>;
  bytes: Buffer;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into answers of every shape.
  json: any;
}

/** A demo provider with a clock that the test advances, and a client with a key. */
export interface Demo {
  url: string;
  clock: TestClock;
  get(path: string, params?: Record<string, string | number>): Promise<DemoReply>;
  post(path: string, params: Record<string, string | number>, body: unknown): Promise<DemoReply>;
  /** Sends a request without a key or headers. */
  raw(pathAndQuery: string, options?: RawOptions): Promise<DemoReply>;
  close(): Promise<void>;
}

interface RawOptions {
  method?: 'GET' | 'POST';
  headers?: Record<string, string>;
  body?: string;
}

/** @param env the provider's settings, as environment variables. */
export async function openDemo(env: Record<string, string> = {}): Promise<Demo> {
  const clock = new TestClock();
  const app = buildDemoProvider(readDemoSettings(env), clock);
  await app.listen({ host: '127.0.0.1', port: 0 });
  const url = `http://127.0.0.1:${(app.server.address() as AddressInfo).port}`;

  async function raw(pathAndQuery: string, options: RawOptions = {}): Promise<DemoReply> {
    const { statusCode, headers, body } = await request(`${url}${pathAndQuery}`, {
      method: options.method ?? 'GET',
      ...(options.headers ? { headers: options.headers } : {}),
      ...(options.body === undefined ? {} : { body: options.body }),
    });
    const bytes = Buffer.from(await body.arrayBuffer());
    return {
      status: statusCode,
      headers,
      bytes,
      get json() {
        return JSON.parse(bytes.toString('utf8'));
      },
    };
  }

  const address = (path: string, params: Record<string, string | number>) => {
    const texts = Object.entries(params).map(([name, value]) => [name, String(value)]);
    const query = new URLSearchParams({ key: DEMO_KEY, ...Object.fromEntries(texts) });
    return `/${path}?${query.toString()}`;
  };
  return {
    url,
    clock,
    raw,
    get: (path, params = {}) => raw(address(path, params)),
    post: (path, params, body) =>
      raw(address(path, params), {
        method: 'POST',
        headers: { 'content-type': 'application/json; charset=UTF-8' },
        body: JSON.stringify(body),
      }),
    close: () => app.close(),
  };
}
