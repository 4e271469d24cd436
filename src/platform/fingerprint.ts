import { hash } from 'node:crypto';
import { configure } from 'safe-stable-stringify';

const stable = configure({ bigint: true });

/**
 * 128 bits, in hex, that stand for a value: equal for equal values whatever the order of their keys.
 * Used for charge, source and presentation identities.
 */
export function fingerprint(...parts: readonly unknown[]): string {
  return hash('sha256', stable(parts) ?? '', 'hex').slice(0, 32);
}
