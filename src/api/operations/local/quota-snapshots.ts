import { RateLimiterMemory } from 'rate-limiter-flexible';
import type { Clock } from '../../../platform/clock.ts';
import { recentlyUsed } from '../../../platform/recently-used.ts';
import type { Account } from '../../plugins/authentication.ts';

/** Reads are counted in windows of this length. */
const WINDOW_SECONDS = 5;

/** The greatest age of a snapshot that is sent again. */
const LONGEST_MS = 1_000;

/** Bounds memory. A snapshot that is evicted is read again. */
const MAX_SNAPSHOTS = 10_000;

/** Reads quotas, which are never refused: beyond a rate, an account receives snapshots that are at most a second old. */
export interface QuotaSnapshots<Snapshot> {
  /** @param read reads the quota of the account and its key. */
  read(account: Account, read: () => Promise<Snapshot>): Promise<Snapshot>;
}

/** @param perSecond reads of an account in this gateway for each of which the database is read. null: all. */
export function createQuotaSnapshots<Snapshot>(
  clock: Clock,
  perSecond: number | null,
): QuotaSnapshots<Snapshot> {
  if (perSecond === null) return { read: (_account, read) => read() };
  const limiter = new RateLimiterMemory({ points: perSecond * WINDOW_SECONDS, duration: WINDOW_SECONDS });
  const snapshots = recentlyUsed<string, { readAt: number; snapshot: Promise<Snapshot> }>(MAX_SNAPSHOTS);

  return {
    async read({ accountId, keyHash }, read) {
      const isWithin = await limiter.consume(accountId).then(
        () => true,
        () => false,
      );
      if (isWithin) return read();
      const key = keyHash.toString('latin1');
      const now = clock.now();
      const last = snapshots.get(key);
      if (last && now - last.readAt <= LONGEST_MS) return last.snapshot;
      const snapshot = read();
      snapshots.set(key, { readAt: now, snapshot });
      snapshot.catch(() => snapshots.delete(key));
      return snapshot;
    },
  };
}
