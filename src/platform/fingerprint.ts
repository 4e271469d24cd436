import { hash } from 'node:crypto';
import { configure } from 'safe-stable-stringify';

const stable = configure({ bigint: true });

/** Returns a 128-bit hash in hex, which ignores the order of object keys. Used for charge, source and presentation identities. */
export function fingerprint(...parts: readonly unknown[]): string {
  return fingerprintOf(stable(parts) ?? '');
}

/** Returns the same hash of parts that are already JSON, with the keys of objects in order. */
export function fingerprintOf(json: string): string {
  return hash('sha256', json, 'hex').slice(0, 32);
}

/** Returns what is stored of a random token: the token cannot be derived from it. */
export function digestOf(token: string): Buffer {
  return hash('sha256', token, 'buffer');
}
