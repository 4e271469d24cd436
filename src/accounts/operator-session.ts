import { timingSafeEqual } from 'node:crypto';
import type { Database } from '../platform/db/pool.ts';
import { credentialOf } from './operator-token.ts';
import { findSession, type Session } from './sessions.ts';

export const OPERATOR_COOKIE = 'souk_operator';

/** The cookie of a browser in which the operator has signed in before. */
export const OPERATOR_DEVICE_COOKIE = 'souk_operator_device';

export type OperatorSession = Extract<Session, { kind: 'operator' }>;

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
