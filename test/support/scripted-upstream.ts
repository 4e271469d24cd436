import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { closeServer } from './close-server.ts';
import { createSignals } from './signals.ts';

export interface UpstreamCall {
  method: string;
  path: string;
  params: Record<string, string>;
  body: string;
  /** The cookie header; empty where there is none. */
  cookie: string;
  /** True after the caller has disconnected before the answer. */
  aborted: boolean;
}

/** The reaction of upstream to a call: an answer, or a promise of one. */
export type Script = (
  call: UpstreamCall,
  response: ServerResponse,
) => UpstreamAnswer | Promise<UpstreamAnswer>;

export type UpstreamAnswer =
  | { status?: number; json: unknown }
  | { status?: number; raw: string | Buffer; contentType?: string; headers?: Record<string, string> }
  /** The script has written the response itself. */
  | 'handled';

/** A product data provider on real HTTP whose answers the test scripts. */
export interface ScriptedUpstream {
  url: string;
  calls: UpstreamCall[];
  /** Calls of one endpoint. */
  callsTo(path: string): UpstreamCall[];
  on(path: string, script: Script): void;
  /** Resolves with the calls, of one endpoint or of all, once there are as many. */
  received(howMany: number, path?: string): Promise<UpstreamCall[]>;
  /** Resolves with the calls that the caller has aborted, once there are this many. */
  abandoned(howMany: number): Promise<UpstreamCall[]>;
  /** Forgets all scripts and calls. */
  forget(): void;
  close(): Promise<void>;
}

/** The token fields of an ordinary answer. */
export const PLENTY = {
  timestamp: 0,
  tokensLeft: 10_000,
  refillIn: 30_000,
  refillRate: 300,
  tokenFlowReduction: 0,
  tokensConsumed: 1,
  processingTimeInMs: 1,
};

export async function openScriptedUpstream(): Promise<ScriptedUpstream> {
  const scripts = new Map<string, Script>();
  const calls: UpstreamCall[] = [];
  const signals = createSignals(() => calls);
  let clock = 0;

  const callsTo = (path: string) => calls.filter((call) => call.path === path);

  async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? '', 'http://upstream');
    const path = url.pathname.replace(/^\/|\/$/g, '');
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const params = Object.fromEntries(url.searchParams);
    const call: UpstreamCall = {
      method: request.method ?? '',
      path,
      params,
      body: Buffer.concat(chunks).toString(),
      cookie: request.headers.cookie ?? '',
      aborted: false,
    };
    response.once('close', () => {
      call.aborted = !response.writableFinished;
      signals.changed();
    });
    calls.push(call);
    signals.changed();
    const script = scripts.get(path);
    const answer = script ? await script(call, response) : ({ status: 404, json: {} } as const);
    if (answer === 'handled' || response.destroyed) return;
    if ('raw' in answer) {
      response.writeHead(answer.status ?? 200, {
        'content-type': answer.contentType ?? 'application/json',
        ...answer.headers,
      });
      response.end(answer.raw);
      return;
    }
    clock += 1;
    const envelope =
      answer.status === undefined || answer.status === 200 ? { ...PLENTY, timestamp: clock } : {};
    response.writeHead(answer.status ?? 200, { 'content-type': 'application/json;charset=UTF-8' });
    response.end(JSON.stringify({ ...envelope, ...(answer.json as object) }));
  }

  const server = createServer((request, response) => void serve(request, response));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    calls,
    callsTo,
    on: (path, script) => scripts.set(path, script),
    received: (howMany, path) =>
      signals.until(`${howMany} x a call ${path ? `to ${path}` : ''}`, () =>
        atLeast(howMany, path ? callsTo(path) : [...calls]),
      ),
    abandoned: (howMany) =>
      signals.until(`${howMany} x a call that is hung up on`, () =>
        atLeast(
          howMany,
          calls.filter(({ aborted }) => aborted),
        ),
      ),
    forget() {
      scripts.clear();
      calls.length = 0;
    },
    close: () => closeServer(server),
  };
}

const atLeast = <T>(howMany: number, found: T[]) => (found.length >= howMany ? found : undefined);

/** A gate that a test opens: `reached` resolves when `open` is called. */
export function gate(): { reached: Promise<void>; open(): void } {
  let open = () => {};
  const reached = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { reached, open };
}
