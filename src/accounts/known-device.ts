import { createHmac, timingSafeEqual } from 'node:crypto';

/**
 * The cookie value of a browser that has signed in. It is derived from a secret, so the database stores nothing for it, and it
 * becomes invalid when the secret changes.
 * @param secret the stored digest of a password, or the operator's token.
 */
export function deviceToken(secret: string): string {
  return createHmac('sha256', secret).update('known device').digest('base64url');
}

/** Whether a browser has sent the cookie value of this secret. */
export function isKnownDevice(token: string | undefined, secret: string): boolean {
  const [given, expected] = [Buffer.from(token ?? ''), Buffer.from(deviceToken(secret))];
  return given.length === expected.length && timingSafeEqual(given, expected);
}
