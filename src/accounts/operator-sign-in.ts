import { createHash, createHmac, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { BlockList } from 'node:net';
import type { ClientBase } from 'pg';
import type { Database, Queryable } from '../platform/db/pool.ts';
import type { SecretBox } from '../platform/secret-box.ts';
import type { Attempts } from './attempts.ts';
import { findSession, isKnownDevice, type Session } from './sessions.ts';
import { type GivenCode, newRecoveryCodes, PENDING_SECONDS, recoveryDigest, totpStep } from './two-factor.ts';

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

/** The digest of the operator token that a session stores, so that the session ends when the token changes. */
export function credentialOf(token: string): Buffer {
  return digest(`session of the operator ${token}`);
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

interface Guess {
  address: string;
  /** The cookie of a browser in which the operator has signed in before. */
  device: string | undefined;
  isRight: boolean;
}

/**
 * `waitSeconds`: too many incorrect tokens came from this network, and this one was not checked. `needsCode`: the token is correct,
 * and two-factor sign-in is on.
 */
export type Verdict = { isRight: boolean; waitSeconds: number | null; needsCode?: boolean };

/** Decides whether a request with an operator token is accepted, and limits attempts to guess the token. */
export interface OperatorGuard {
  /** Judges a token of the sign-in page, which a code may have to follow. */
  judge(guess: Guess): Promise<Verdict>;
  /** Judges a token of a header, which cannot have a code: while two-factor sign-in is on, no token is accepted there. */
  judgeHeader(guess: Guess): Promise<Verdict>;
}

interface GuardDeps {
  database: Database;
  attempts: Pick<Attempts, 'tokenWait' | 'countWrongToken'>;
}

/** @param onRefused called after an incorrect token, with the address it came from. */
export function createOperatorGuard(
  adminToken: string,
  { database, attempts }: GuardDeps,
  onRefused: (address: string) => Promise<void>,
): OperatorGuard {
  async function judge({ address, device, isRight }: Guess): Promise<Verdict> {
    const isKnown = isKnownDevice(device, adminToken);
    const waitSeconds = isKnown ? null : await attempts.tokenWait(address);
    if (waitSeconds !== null) return { isRight: false, waitSeconds };
    if (!isRight) {
      await attempts.countWrongToken(address);
      await onRefused(address);
    }
    return { isRight, waitSeconds };
  }
  return {
    judge,
    async judgeHeader(guess) {
      const verdict = await judge(guess);
      if (!verdict.isRight || !(await readOperatorTwoFactor(database)).isOn) return verdict;
      return { ...verdict, isRight: false, needsCode: true };
    },
  };
}

/**
 * The cookie value of a browser in which the operator has entered the token, and has to enter a code. It is signed with the
 * token, so the database stores nothing for it, and it becomes invalid when the token changes.
 */
export function operatorPendingToken(adminToken: string, now: number): string {
  return signed(String(now + PENDING_SECONDS * 1000), adminToken);
}

/** Whether a browser has sent the cookie value of this token, and a code may still follow. */
export function isOperatorPending(given: string | undefined, adminToken: string, now: number): boolean {
  const [expiresAt = ''] = (given ?? '').split('.', 1);
  const [sent, expected] = [Buffer.from(given ?? ''), Buffer.from(signed(expiresAt, adminToken))];
  return sent.length === expected.length && timingSafeEqual(sent, expected) && now < Number(expiresAt);
}

function signed(expiresAt: string, adminToken: string): string {
  const signature = createHmac('sha256', adminToken).update(`pending sign-in until ${expiresAt}`);
  return `${expiresAt}.${signature.digest('base64url')}`;
}

export const OPERATOR_COOKIE = 'souk_operator';

/** The cookie of a browser in which the operator has signed in before. */
export const OPERATOR_DEVICE_COOKIE = 'souk_operator_device';

type OperatorSession = Extract<Session, { kind: 'operator' }>;

/** The session of a cookie; null if it does not exist, has expired, or was started with another value of ADMIN_TOKEN. */
export async function findOperator(
  database: Database,
  cookie: string | undefined,
  adminToken: string,
  now: number,
): Promise<OperatorSession | null> {
  const session = cookie ? await findSession(database, cookie, now) : null;
  return session?.kind === 'operator' && isOf(session, adminToken) ? session : null;
}

/** Whether an operator's session was started with this token. */
export function isOf({ credential }: Pick<Session, 'credential'>, adminToken: string): boolean {
  const expected = credentialOf(adminToken);
  return (
    credential !== null && credential.length === expected.length && timingSafeEqual(credential, expected)
  );
}

const PURPOSE = 'second factor of the operator';

/** The second factor of the operator console. All who hold the operator token share it. */
interface OperatorTwoFactor {
  isOn: boolean;
  /** Recovery codes that can still be used. */
  recoveryCodes: number;
}

export async function readOperatorTwoFactor(database: Queryable): Promise<OperatorTwoFactor> {
  const { rows } = await database.query<OperatorTwoFactor>(
    `select secret is not null as "isOn", cardinality(recovery_hashes) as "recoveryCodes" from operator_two_factor`,
  );
  return rows[0] ?? { isOn: false, recoveryCodes: 0 };
}

/** Returns whether a code is required, which then does not change until the end of the transaction. */
export async function lockOperatorTwoFactor(client: ClientBase): Promise<boolean> {
  const { rows } = await client.query<{ isOn: boolean }>(
    'select secret is not null as "isOn" from operator_two_factor for share',
  );
  return rows[0]?.isOn === true;
}

/** Turns the second factor on with the first code of the app. @returns the recovery codes, which are not stored; null for an incorrect code, or if it is on. */
export async function addOperatorTwoFactor(
  client: ClientBase,
  box: SecretBox,
  { secret, ...given }: GivenCode & { secret: string },
): Promise<string[] | null> {
  const step = totpStep(secret, given);
  if (step === null) return null;
  const codes = newRecoveryCodes();
  const hashes = codes.map((code) => recoveryDigest('operator', code));
  const { rowCount } = await client.query(
    'update operator_two_factor set secret = $1, last_step = $2, recovery_hashes = $3::bytea[] where secret is null',
    [box.seal(secret, PURPOSE), step, hashes],
  );
  return rowCount === 1 ? codes : null;
}

/** Uses a code of the app, or a recovery code. Each works once. @returns false if the code is not valid. */
export async function verifyOperatorCode(
  client: ClientBase,
  box: SecretBox,
  given: GivenCode,
): Promise<boolean> {
  const { rows } = await client.query<{ secret: string }>(
    'select secret from operator_two_factor where secret is not null',
  );
  const secret = rows[0] && box.open(rows[0].secret, PURPOSE);
  const step = secret ? totpStep(secret, given) : null;
  const { rowCount } =
    step === null
      ? await client.query(
          `update operator_two_factor set recovery_hashes = array_remove(recovery_hashes, $1::bytea)
           where $1::bytea = any(recovery_hashes)`,
          [recoveryDigest('operator', given.code)],
        )
      : await client.query(
          'update operator_two_factor set last_step = $1 where secret is not null and last_step < $1',
          [step],
        );
  return rowCount === 1;
}

/** Turns the second factor off, and deletes its secret and recovery codes. @returns false if it was not on. */
export async function removeOperatorTwoFactor(client: Queryable): Promise<boolean> {
  const { rowCount } = await client.query(
    `update operator_two_factor set secret = null, last_step = 0, recovery_hashes = '{}' where secret is not null`,
  );
  return rowCount === 1;
}

/** Encrypts the stored secret with the first key of the box. */
export async function sealOperatorTwoFactor(database: Database, box: SecretBox): Promise<void> {
  if (box.prefix === null) return;
  const { rows } = await database.query<{ secret: string }>(
    'select secret from operator_two_factor where not starts_with(secret, $1)',
    [box.prefix],
  );
  for (const { secret } of rows) {
    const opened = box.open(secret, PURPOSE);
    if (opened === null) continue;
    await database.query('update operator_two_factor set secret = $2 where secret = $1', [
      secret,
      box.seal(opened, PURPOSE),
    ]);
  }
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
