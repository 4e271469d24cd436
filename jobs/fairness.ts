import type { PoolName } from '../src/operations/pools.ts';
import { recentlyUsed } from '../src/platform/recently-used.ts';

/**
 * The priority of calls of batches, which is the lowest. The order between batches is decided before they are
 * queued.
 */
export const BACKGROUND_PRIORITY = 1_000_000;

/**
 * The number of an account's calls with priority 0. Further ones are queued behind accounts with fewer calls under
 * way.
 */
const CALLS_GOING_FIRST = 4;

/** The calls of an account are counted by pool, synchronous and asynchronous ones separately. */
export interface CallGroup {
  pool: PoolName;
  waiting: 'caller' | 'poller';
}

/**
 * Orders calls between accounts: the more calls an account has under way, the further back its next one is queued. Ten
 * thousand calls of one account delay that account and no other.
 */
export interface Fairness {
  /**
   * Counts a call that is being queued and returns its priority: 0 goes first, higher numbers later.
   * @param key names the API key of the request.
   */
  take(call: CallGroup & { accountId: number; key: string; callId: string; deadlineAt: number }): number;
  /** Returns the priority that `take` would return, without counting a call; 0 for a key without an earlier call. */
  peek(group: CallGroup & { key: string }): number;
  /** Removes a call that has ended. */
  end(callId: string): void;
}

const SWEEP_EVERY_CALLS = 1_000;

const KEYS_KNOWN = 10_000;

/** Counts the calls that this gateway has queued. Each gateway counts by itself. */
export function createFairness(now: () => number): Fairness {
  /** Number of calls under way, by group. */
  const underWay = new Map<string, number>();
  const calls = new Map<string, { group: string; deadlineAt: number }>();
  const accounts = recentlyUsed<string, number>(KEYS_KNOWN);
  let sinceSweep = 0;

  const nameOf = ({ pool, waiting }: CallGroup, accountId: number) => `${pool}/${waiting}/${accountId}`;

  function end(callId: string): void {
    const call = calls.get(callId);
    if (!call) return;
    calls.delete(callId);
    const left = (underWay.get(call.group) ?? 0) - 1;
    if (left > 0) underWay.set(call.group, left);
    else underWay.delete(call.group);
  }

  /** Removes calls after their deadline, because completion messages may be lost. */
  function sweep(): void {
    sinceSweep = 0;
    for (const [callId, { deadlineAt }] of calls) if (deadlineAt < now()) end(callId);
  }

  return {
    take({ accountId, key, callId, deadlineAt, ...place }) {
      sinceSweep += 1;
      if (sinceSweep > SWEEP_EVERY_CALLS) sweep();
      end(callId);
      accounts.set(key, accountId);
      const group = nameOf(place, accountId);
      const nth = (underWay.get(group) ?? 0) + 1;
      underWay.set(group, nth);
      calls.set(callId, { group, deadlineAt });
      return priorityOf(nth);
    },
    peek({ key, ...place }) {
      const accountId = accounts.get(key);
      return accountId === undefined ? 0 : priorityOf((underWay.get(nameOf(place, accountId)) ?? 0) + 1);
    },
    end,
  };
}

/** @param nth the number of calls of its group under way, including this one. */
function priorityOf(nth: number): number {
  return nth <= CALLS_GOING_FIRST ? 0 : Math.min(nth, BACKGROUND_PRIORITY - 1);
}
