import { createHash, timingSafeEqual } from 'node:crypto';

/** What asks a browser for a name and a password. */
export const TOKEN_CHALLENGE = 'Basic realm="Souk", charset="UTF-8"';

/**
 * Judges `Authorization` headers: `Bearer TOKEN`, or `Basic` with the token as the password of any user, which is what
 * browsers send. How long it takes does not tell how much of a guess was right.
 */
export function createTokenCheck(token: string): (authorization: string | undefined) => boolean {
  const isToken = createTokenMatch(token);
  return (authorization = '') => isToken(tokenIn(authorization));
}

/** The same for the token by itself. */
export function createTokenMatch(token: string): (guess: string) => boolean {
  const expected = digest(token);
  return (guess) => timingSafeEqual(digest(guess), expected);
}

/** What a session remembers of the token it was begun with, so that it ends with it. */
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
