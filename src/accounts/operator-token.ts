import { createHash, timingSafeEqual } from 'node:crypto';

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
