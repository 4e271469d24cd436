import { RateLimiterMemory, type RateLimiterRes } from 'rate-limiter-flexible';
import { type Clock, sleep } from '../../platform/clock.ts';
import { recentlyUsed } from '../../platform/recently-used.ts';
import type { Account } from '../plugins/authentication.ts';

/** Reads are counted in windows of this length. */
const WINDOW_SECONDS = 5;

/** The greatest age of a snapshot that is sent again. */
const LONGEST_MS = 1_000;

/** Bounds memory. A snapshot that is evicted is read again. */
const MAX_SNAPSHOTS = 10_000;

/** If a key exceeds its rate this many times over, its reads wait for the next snapshot, so that each connection of a flood sends only one request a second. */
const IMMEDIATE = 5;

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
  const points = perSecond * WINDOW_SECONDS;
  const limiter = new RateLimiterMemory({ points, duration: WINDOW_SECONDS });
  const snapshots = recentlyUsed<string, { readAt: number; snapshot: Promise<Snapshot> }>(MAX_SNAPSHOTS);
  /** The end of the wait of each key whose reads wait. */
  const reads = new Map<string, Promise<void>>();

  function nextTurn(key: string): Promise<void> {
    const read =
      reads.get(key) ??
      sleep(clock, LONGEST_MS, undefined, 'quota snapshot').then(() => {
        reads.delete(key);
      });
    reads.set(key, read);
    return read;
  }

  return {
    async read({ accountId, keyHash }, read) {
      const { consumedPoints } = await limiter.consume(accountId).catch((over: RateLimiterRes) => over);
      if (consumedPoints <= points) return read();
      const key = keyHash.toString('latin1');
      if (consumedPoints > IMMEDIATE * points) await nextTurn(key);
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
