import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type ServerResponse,
  request as sendRequest,
} from 'node:http';
import type { AddressInfo } from 'node:net';
import { closeServer } from './close-server.ts';

/** What happens to a request on its way to a gateway, or to the answer on its way back. */
export type Fault =
  /** The request arrives, and the connection breaks before the answer, or something else answers with this status and a page. */
  | { kind: 'lose'; status?: number }
  /** The connection breaks after this many bytes of the answer. */
  | { kind: 'cut'; afterBytes: number }
  /** Nothing is answered. */
  | { kind: 'hang' }
  /** Something else answers, such as a load balancer. */
  | { kind: 'answer'; status: number; headers?: Record<string, string>; body?: string };

/** A proxy to a gateway over real HTTP. A test breaks what passes through it. */
export interface FaultProxy {
  url: string;
  /** Every request that arrived here, as `GET /api/quota`. */
  requests: string[];
  /** The next request whose address contains `path` has this fault. */
  next(path: string, fault: Fault): void;
  /**
   * The next request whose address contains `path` arrives, and its caller receives only the first lines of the answer on a
   * connection that stays open. Resolves when these lines were sent.
   */
  stall(path: string, afterLines: number): Promise<void>;
  close(): Promise<void>;
}

/** @param target returns the address of the gateway that requests go to at the time. */
export async function openFaultProxy(target: () => string): Promise<FaultProxy> {
  const faults: { path: string; fault: Fault | Stall }[] = [];
  const requests: string[] = [];

  function serve(request: IncomingMessage, response: ServerResponse): void {
    const { method, url = '', headers } = request;
    requests.push(`${method} ${url}`);
    const index = faults.findIndex(({ path }) => url.includes(path));
    const [found] = index === -1 ? [] : faults.splice(index, 1);
    if (!found) {
      forward(request, response, headers, (answer) => pass(answer, response));
      return;
    }
    const { fault } = found;
    if (fault.kind === 'hang') return void request.resume();
    if (fault.kind === 'answer') {
      request.resume();
      response.writeHead(fault.status, fault.headers).end(fault.body);
      return;
    }
    // Bytes and lines are counted in what the caller reads.
    forward(request, response, { ...headers, 'accept-encoding': 'identity' }, (answer) => {
      if (fault.kind === 'lose') answer.resume().on('end', () => lose(response, fault.status));
      else if (fault.kind === 'cut') cut(answer, begin(answer, response), fault.afterBytes);
      else stall(answer, response, fault);
    });
  }

  function forward(
    request: IncomingMessage,
    response: ServerResponse,
    headers: IncomingHttpHeaders,
    onAnswer: (answer: IncomingMessage) => void,
  ): void {
    const { method, url } = request;
    const forwarded = sendRequest(`${target()}${url}`, { method, headers, agent: false }, onAnswer);
    forwarded.on('error', () => response.destroy());
    response.on('close', () => forwarded.destroy());
    request.pipe(forwarded);
  }

  const server = createServer(serve);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    next: (path, fault) => void faults.push({ path, fault }),
    stall: (path, afterLines) =>
      new Promise((sent) => faults.push({ path, fault: { kind: 'stall', afterLines, sent } })),
    close: () => closeServer(server),
  };
}

function begin({ statusCode, headers }: IncomingMessage, response: ServerResponse): ServerResponse {
  response.writeHead(statusCode ?? 500, headers);
  response.flushHeaders();
  return response;
}

function lose(response: ServerResponse, status?: number): void {
  if (status === undefined) response.destroy();
  else response.writeHead(status).end('<html>a proxy</html>');
}

function pass(answer: IncomingMessage, response: ServerResponse): void {
  answer.pipe(begin(answer, response));
  answer.on('error', () => response.destroy());
  answer.on('aborted', () => response.destroy());
}

interface Stall {
  kind: 'stall';
  afterLines: number;
  sent: () => void;
}

function stall(answer: IncomingMessage, response: ServerResponse, { afterLines, sent }: Stall): void {
  let text = '';
  answer.setEncoding('utf8').on('data', (chunk: string) => {
    text += chunk;
  });
  answer.on('end', () => {
    if (afterLines === 0) return sent();
    const lines = text.split('\n').slice(0, afterLines);
    begin(answer, response).write(lines.map((line) => `${line}\n`).join(''), () => sent());
  });
}

function cut(answer: IncomingMessage, response: ServerResponse, afterBytes: number): void {
  let left = afterBytes;
  answer.on('data', (chunk: Buffer) => {
    if (response.destroyed) return;
    response.write(chunk.subarray(0, left));
    left -= chunk.length;
    // What was written arrives before the connection breaks.
    if (left <= 0) setImmediate(() => response.destroy());
  });
  answer.on('end', () => response.destroy());
}
