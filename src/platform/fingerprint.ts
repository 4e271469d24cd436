import { hash } from 'node:crypto';
import { configure } from 'safe-stable-stringify';

const stable = configure({ bigint: true });

/**
 * Returns a 128-bit hash in hex, which ignores the order of object keys. Used for charge, source and presentation
 * identities.
 */
export function fingerprint(...parts: readonly unknown[]): string {
  return hash('sha256', stable(parts) ?? '', 'hex').slice(0, 32);
}
