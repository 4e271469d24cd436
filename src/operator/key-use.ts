import { type Clock, every } from '../platform/clock.ts';
import type { Database } from '../platform/db/pool.ts';
import type { Logger } from '../platform/log.ts';
import type { StoringSink } from '../platform/telemetry/call-events.ts';

/** Writing with each call would double its writes. */
const WRITE_EVERY_MS = 30_000;

/** The most keys per write. For each further key, one of the others is dropped. */
const MAX_KEYS = 50_000;

/** Stores when keys were last accepted. */
export function createKeyUse(database: Database, clock: Clock, log: Logger): StoringSink {
  /** By the digest of the key, as a text of its bytes. */
  const usedAt = new Map<string, number>();

  async function write(): Promise<void> {
    if (usedAt.size === 0) return;
    const used = [...usedAt];
    usedAt.clear();
    try {
      await database.query(
        `update api_keys k set last_used_at = greatest(k.last_used_at, u.at)
         from unnest($1::bytea[], $2::timestamptz[]) as u (hash, at)
         where k.hash = u.hash and k.purpose = 'customer'`,
        [used.map(([hash]) => Buffer.from(hash, 'latin1')), used.map(([, at]) => new Date(at))],
      );
    } catch (error) {
      // The failed write is not repeated, because no charge depends on it. The next use of the key is written.
      log.debug({ err: error }, 'failed to write the use of keys');
    }
  }

  const stop = every(clock, WRITE_EVERY_MS, write);
  return {
    onEvent(event) {
      if (event.type !== 'key.accepted') return;
      const hash = event.keyHash.toString('latin1');
      if (usedAt.size === MAX_KEYS && !usedAt.has(hash)) usedAt.delete(usedAt.keys().next().value ?? '');
      usedAt.set(hash, clock.now());
    },
    async close() {
      await stop();
      await write();
    },
  };
}
