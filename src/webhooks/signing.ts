import { randomBytes } from 'node:crypto';
import { Webhook } from 'standardwebhooks';

const SECRET_BYTES = 32;

/** A new signing secret in the form of Standard Webhooks: `whsec_` and 32 random bytes in base64. */
export function newSecret(): string {
  return `whsec_${randomBytes(SECRET_BYTES).toString('base64')}`;
}

/**
 * The headers by which a receiver knows that a body is ours, new, and which of several it is (Standard Webhooks).
 * @param secrets all that sign, so that a receiver may hold any of them.
 * @param now of this attempt: receivers refuse signatures that are some minutes old, so each attempt is signed anew.
 */
export function signedHeaders(
  { id, payload }: { id: string; payload: string },
  secrets: readonly string[],
  now: number,
): Record<'webhook-id' | 'webhook-timestamp' | 'webhook-signature', string> {
  const at = new Date(now);
  return {
    'webhook-id': id,
    'webhook-timestamp': String(Math.floor(now / 1000)),
    'webhook-signature': secrets.map((secret) => new Webhook(secret).sign(id, at, payload)).join(' '),
  };
}
