import autocannon from 'autocannon';
import type { Answers } from '../attack-case.ts';

export interface FloodOptions {
  gateway: string;
  connections: number;
  /** How long, or how many requests. */
  seconds?: number;
  amount?: number;
  /** Sent in turn. `{n}` in texts becomes the number of the request, of twelve digits, and `{network}` an address in a network of its own. */
  requests: readonly FloodRequest[];
}

export interface FloodRequest {
  method: 'GET' | 'POST';
  path: string;
  headers: Record<string, string>;
  body?: string;
}

/** Sends requests over some connections, each as soon as the one before is answered. @param address where they come from. */
export async function flood(options: FloodOptions, address: string): Promise<Answers> {
  const { gateway, connections, seconds, amount, requests } = options;
  let sent = 0;
  const setupRequest = (blank: autocannon.Request): autocannon.Request => {
    const request = requests[sent % requests.length];
    sent += 1;
    return request ? { ...blank, ...numbered(request, sent, address) } : blank;
  };
  const {
    statusCodeStats = {},
    errors,
    resets,
  } = await autocannon({
    url: gateway,
    connections,
    ...(seconds === undefined ? {} : { duration: seconds }),
    ...(amount === undefined ? {} : { amount }),
    timeout: 60,
    requests: [{ setupRequest }],
  });
  const answers = Object.entries(statusCodeStats).map(([status, { count = 0 }]) => [status, count] as const);
  return { ...Object.fromEntries(answers), ...(errors + resets > 0 ? { none: errors + resets } : {}) };
}

function numbered(
  { method, path, headers, body }: FloodRequest,
  n: number,
  address: string,
): autocannon.Request {
  const fill = (text: string) =>
    text
      .replaceAll('{n}', String(n).padStart(12, '0'))
      .replaceAll('{network}', `${1 + ((n >> 16) & 127)}.${(n >> 8) & 255}.${n & 255}.7`);
  return {
    method,
    path: fill(path),
    headers: Object.fromEntries(
      Object.entries({ 'x-forwarded-for': address, ...headers }).map(([name, value]) => [name, fill(value)]),
    ),
    ...(body === undefined ? {} : { body: fill(body) }),
  };
}
