import { createHash, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { BlockList } from 'node:net';
import type { Attempts } from './attempts.ts';

/** The header value that makes a browser ask for a name and a password. */
export const TOKEN_CHALLENGE = 'Basic realm="Souk", charset="UTF-8"';

/**
 * Returns a check of `Authorization` headers: `Bearer TOKEN`, or `Basic` with the token as the password of any user, which
 * browsers send. It takes constant time.
 */
export function createTokenCheck(token: string): (authorization: string | undefined) => boolean {
  const isToken = createTokenMatch(token);
  return (authorization = '') => isToken(tokenIn(authorization));
}

/** Returns a check of the token alone, in constant time. */
export function createTokenMatch(token: string): (guess: string) => boolean {
  const expected = digest(token);
  return (guess) => timingSafeEqual(digest(guess), expected);
}

/** The start of a digest of the operator token, which tells in the audit log that it was changed. */
export function tokenMark(token: string): string {
  return digest(`session of the operator ${token}`).toString('hex', 0, 4);
}

function tokenIn(authorization: string): string {
  const [, scheme = '', value = ''] = /^(Bearer|Basic) +(\S+)$/i.exec(authorization) ?? [];
  if (scheme.toLowerCase() !== 'basic') return value;
  const credentials = Buffer.from(value, 'base64').toString('utf8');
  return credentials.slice(credentials.indexOf(':') + 1);
}

function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}

/** `waitSeconds`: too many incorrect tokens came from this network, and this one was not checked. */
export interface Verdict {
  isRight: boolean;
  waitSeconds: number | null;
}

/** Judges an operator token that came from an address, and limits attempts to guess it. */
export type OperatorGuard = (address: string, isRight: boolean) => Promise<Verdict>;

/** @param onRefused called after an incorrect token, with the address it came from. */
export function createOperatorGuard(
  attempts: Pick<Attempts, 'tokenWait' | 'countWrongToken'>,
  onRefused: (address: string) => Promise<void>,
): OperatorGuard {
  return async (address, isRight) => {
    const waitSeconds = await attempts.tokenWait(address);
    if (waitSeconds !== null) return { isRight: false, waitSeconds };
    if (!isRight) {
      await attempts.countWrongToken(address);
      await onRefused(address);
    }
    return { isRight, waitSeconds };
  };
}

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
