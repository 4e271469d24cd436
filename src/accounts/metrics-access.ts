import type { IncomingMessage } from 'node:http';
import { BlockList } from 'node:net';
import { createTokenCheck } from './operator-token.ts';

const LOOPBACK = new BlockList();
LOOPBACK.addSubnet('127.0.0.0', 8, 'ipv4');
LOOPBACK.addAddress('::1', 'ipv6');

/** Headers that proxies add. Behind a proxy on the same machine, all connections come from this machine. */
const PROXY_HEADERS = ['x-forwarded-for', 'forwarded', 'x-real-ip', 'via'];

/**
 * Decides which requests may read the metrics: those with the token or, without a token, those of programs on the same machine.
 * @param token the setting METRICS_TOKEN. @param hasProxy whether the process is reached through a proxy. The requests of a proxy on the
 * same machine need not have a header that shows it, so none may read the metrics without a token.
 */
export function createMetricsCheck(
  token: string | undefined,
  hasProxy = false,
): (request: IncomingMessage) => boolean {
  if (token === undefined) return hasProxy ? () => false : isLocal;
  const isGood = createTokenCheck(token);
  return ({ headers }) => isGood(headers.authorization);
}

function isLocal({ socket, headers }: IncomingMessage): boolean {
  const address = (socket.remoteAddress ?? '').replace(/^::ffff:/i, '');
  const family = address.includes(':') ? 'ipv6' : 'ipv4';
  return address !== '' && LOOPBACK.check(address, family) && !PROXY_HEADERS.some((name) => name in headers);
}
