import { Agent, request } from 'node:http';
import type { FuzzRequest } from './request.ts';

/** The answer to a request. */
export interface FuzzAnswer {
  /** 0: the connection ended without an answer. */
  status: number;
  headers: Record<string, string | string[] | undefined>;
  /** The beginning of the body. */
  text: string;
  startedAt: number;
  /** Time until the headers arrived, because streams stay open. */
  tookMs: number;
}

/** This is longer than any call waits in the service, so that the call of every answer is known. */
const PATIENCE_MS = 130_000;

/** How long a stream of events may stay open. */
const STREAM_MS = 300;

const LONGEST_TEXT = 100_000;

export interface Sender {
  send(gateway: string, request: FuzzRequest, headers: Record<string, string>): Promise<FuzzAnswer>;
  close(): void;
}

/** Sends requests over connections that are kept open. */
export function createSender(): Sender {
  const agent = new Agent({ keepAlive: true, maxSockets: 64 });
  return {
    send: (gateway, { method, path, body }, headers) =>
      new Promise((resolve) => {
        const { hostname, port } = new URL(gateway);
        const startedAt = performance.now();
        const finish = (answer: Pick<FuzzAnswer, 'status' | 'headers' | 'text'>, tookMs: number) =>
          resolve({ ...answer, startedAt, tookMs });
        const none = { status: 0, headers: {}, text: '' };
        const sent = request({
          agent,
          hostname,
          port,
          method,
          path: sendable(path),
          headers: withLength(headers, body),
        });
        sent.setTimeout(PATIENCE_MS, () => sent.destroy());
        sent.on('error', () => finish(none, performance.now() - startedAt));
        // A tunnel or another protocol, which the service does not offer.
        sent.on('upgrade', (_response, socket) => socket.destroy());
        sent.on('response', (response) => {
          const tookMs = performance.now() - startedAt;
          const { statusCode: status = 0, headers: given } = response;
          let text = '';
          const end = () => finish({ status, headers: given, text }, tookMs);
          response.setEncoding('utf8');
          response.on('data', (chunk: string) => {
            if (text.length < LONGEST_TEXT) text += chunk;
          });
          response.on('end', end);
          response.on('error', end);
          response.on('close', end);
          if (String(given['content-type']).startsWith('text/event-stream'))
            setTimeout(() => response.destroy(), STREAM_MS);
        });
        sent.end(body);
      }),
    close: () => agent.destroy(),
  };
}

/** Node refuses to send characters above Latin-1 and controls, so they travel encoded. */
function sendable(path: string): string {
  return path.replaceAll(/[^\x21-\xff]/gu, (sign) => encodeURIComponent(Buffer.from(sign).toString())) || '/';
}

function withLength(
  headers: Record<string, string>,
  body: string | Buffer | undefined,
): Record<string, string> {
  return body === undefined ? headers : { ...headers, 'content-length': String(Buffer.byteLength(body)) };
}
