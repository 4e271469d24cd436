import { createRequire } from 'node:module';

const argon2 = createRequire(import.meta.url)('@node-rs/argon2') as typeof import('@node-rs/argon2');

/** Passwords that begin with this are hashed as in production. */
export const COSTLY = 'costly';

/**
 * Takes the place of `@node-rs/argon2` in tests, and hashes at the least cost: a hash of production occupies a processor for 20 ms, and
 * tests make hundreds. Verification costs what the hash did.
 */
export const hash: typeof argon2.hash = (password, options) =>
  argon2.hash(password, {
    ...options,
    ...(!String(password).startsWith(COSTLY) && { memoryCost: 64, timeCost: 1 }),
  });

export const { verify } = argon2;
