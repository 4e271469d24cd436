import { createServer, type IncomingMessage, type ServerResponse, request as sendRequest } from 'node:http';
import type { AddressInfo } from 'node:net';

/** What happens to a request on its way to a gateway, or to the answer on its way back. */
export type Fault =
  /** The request arrives, and the connection breaks before the answer. */
  | { kind: 'lose' }
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
  close(): Promise<void>;
}

/** @param target returns the address of the gateway that requests go to at the time. */
export async function openFaultProxy(target: () => string): Promise<FaultProxy> {
  const faults: { path: string; fault: Fault }[] = [];
  const requests: string[] = [];

  function serve(request: IncomingMessage, response: ServerResponse): void {
    const { method, url = '', headers } = request;
    requests.push(`${method} ${url}`);
    const index = faults.findIndex(({ path }) => url.includes(path));
    const [found] = index === -1 ? [] : faults.splice(index, 1);
    const fault = found?.fault;
    if (fault?.kind === 'hang') return void request.resume();
    if (fault?.kind === 'answer') {
      request.resume();
      response.writeHead(fault.status, fault.headers).end(fault.body);
      return;
    }
    const forwarded = sendRequest(`${target()}${url}`, { method, headers, agent: false }, (answer) => {
      if (fault?.kind === 'lose') {
        answer.resume().on('end', () => response.destroy());
        return;
      }
      response.writeHead(answer.statusCode ?? 500, answer.headers);
      response.flushHeaders();
      if (fault?.kind === 'cut') return cut(answer, response, fault.afterBytes);
      answer.pipe(response);
      answer.on('error', () => response.destroy());
      answer.on('aborted', () => response.destroy());
    });
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
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
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
