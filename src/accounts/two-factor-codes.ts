import { createHash, randomBytes } from 'node:crypto';
import { Secret, TOTP } from 'otpauth';

const STEP_MS = 30_000;

/** Codes of the step before and after the present one are accepted, because clocks of telephones differ. */
const STEPS_AROUND = 1;

const RECOVERY_CODES = 10;
const RECOVERY_BYTES = 8;

/** A code that a user enters, and the time of its check. */
export interface GivenCode {
  code: string;
  now: number;
}

/** Returns a new secret in Base32: 32 characters. */
export function newTotpSecret(): string {
  return new Secret({ size: 20 }).base32;
}

/** Returns the address from which an app reads a secret. */
export function totpUri(secret: string, label: string): string {
  return totpOf(secret, label).toString();
}

/** Returns the time step that a code of the app belongs to; null if it belongs to none around now. */
export function totpStep(secret: string, { code, now }: GivenCode): number | null {
  const token = code.replaceAll(' ', '');
  const delta = totpOf(secret, '').validate({ token, timestamp: now, window: STEPS_AROUND });
  return delta === null ? null : Math.floor(now / STEP_MS) + delta;
}

export function newRecoveryCodes(): string[] {
  return Array.from({ length: RECOVERY_CODES }, () => {
    const text = randomBytes(RECOVERY_BYTES).toString('hex');
    return `${text.slice(0, 8)}-${text.slice(8)}`;
  });
}

/** The stored form of a recovery code. The code has 64 random bits, so a fast digest is as safe as a slow one. */
export function recoveryDigest(owner: number | 'operator', code: string): Buffer {
  const text = code.toLowerCase().replaceAll(/[\s-]/g, '');
  return createHash('sha256').update(`recovery code of ${owner}: ${text}`).digest();
}

function totpOf(secret: string, label: string): TOTP {
  return new TOTP({ issuer: 'Souk', label, secret: Secret.fromBase32(secret) });
}
