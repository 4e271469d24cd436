import { LRUCache } from 'lru-cache';
import type { Authentication } from '../accounts/authentication.ts';
import type { Admissions } from '../billing/admission.ts';
import { type Clock, every } from '../platform/clock.ts';
import type { Database } from '../platform/db/pool.ts';
import type { Logger } from '../platform/log.ts';

/** When keys were last used is written down so often, and not with each call: that would double its writes. */
const WRITE_EVERY_MS = 30_000;

/** Keys that are used within that time; of more the ones used longest ago are left out. */
const MAX_KEYS = 50_000;

/** Watches which keys are good for something. */
export interface KeyUse {
  admissions(inner: Admissions): Admissions;
  authentication(inner: Authentication): Authentication;
  /** Writes down what was noticed so far. */
  write(): Promise<void>;
  close(): Promise<void>;
}

export function createKeyUse(database: Database, clock: Clock, log: Logger): KeyUse {
  const usedAt = new LRUCache<string, number>({ max: MAX_KEYS });
  const note = (keyHash: Buffer) => void usedAt.set(keyHash.toString('hex'), clock.now());

  async function write(): Promise<void> {
    if (usedAt.size === 0) return;
    const noticed = [...usedAt.entries()];
    usedAt.clear();
    try {
      await database.query(
        `update api_keys k set last_used_at = greatest(k.last_used_at, u.at)
         from unnest($1::text[], $2::timestamptz[]) as u (hash, at)
         where k.hash = decode(u.hash, 'hex') and k.purpose = 'customer'`,
        [noticed.map(([hash]) => hash), noticed.map(([, at]) => new Date(at))],
      );
    } catch (error) {
      // It is a comfort, not money: the next use is written down again.
      log.debug({ err: error }, 'the use of keys was not written down');
    }
  }

  const stop = every(clock, WRITE_EVERY_MS, write);
  return {
    admissions: (inner) => ({
      ...inner,
      async admit(request) {
        const admission = await inner.admit(request);
        if ('keyHash' in request.caller) note(request.caller.keyHash);
        return admission;
      },
    }),
    authentication: (inner) => ({
      async accountOf(keyHash) {
        const accountId = await inner.accountOf(keyHash);
        note(keyHash);
        return accountId;
      },
    }),
    write,
    async close() {
      await stop();
      await write();
    },
  };
}
