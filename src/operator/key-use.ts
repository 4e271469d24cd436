import { type Clock, every } from '../platform/clock.ts';
import type { Database } from '../platform/db/pool.ts';
import type { Logger } from '../platform/log.ts';
import { recentlyUsed } from '../platform/recently-used.ts';
import type { StoringSink } from '../platform/telemetry/call-events.ts';

/** Writing with each call would double its writes. */
const WRITE_EVERY_MS = 30_000;

/** The most keys per write. Beyond it the least recently used are dropped. */
const MAX_KEYS = 50_000;

/** Stores when keys were last accepted. */
export function createKeyUse(database: Database, clock: Clock, log: Logger): StoringSink {
  const usedAt = recentlyUsed<string, number>(MAX_KEYS);

  async function write(): Promise<void> {
    if (usedAt.size === 0) return;
    const used = [...usedAt.entries()];
    usedAt.clear();
    try {
      await database.query(
        `update api_keys k set last_used_at = greatest(k.last_used_at, u.at)
         from unnest($1::text[], $2::timestamptz[]) as u (hash, at)
         where k.hash = decode(u.hash, 'hex') and k.purpose = 'customer'`,
        [used.map(([hash]) => hash), used.map(([, at]) => new Date(at))],
      );
    } catch (error) {
      // The failed write is not repeated, because no charge depends on it. The next use of the key is written.
      log.debug({ err: error }, 'failed to write the use of keys');
    }
  }

  const stop = every(clock, WRITE_EVERY_MS, write);
  return {
    onEvent(event) {
      if (event.type === 'key.accepted') usedAt.set(event.keyHash.toString('hex'), clock.now());
    },
    async close() {
      await stop();
      await write();
    },
  };
}
