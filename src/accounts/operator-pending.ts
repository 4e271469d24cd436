import { createHmac, timingSafeEqual } from 'node:crypto';
import { PENDING_SECONDS } from './pending-sign-ins.ts';

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
