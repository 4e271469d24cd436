import { LRUCache } from 'lru-cache';
import type { PoolName } from '../src/operations/pools.ts';

/** The priority of batches' calls, after all others. Which batch comes first is decided before they are queued. */
export const BACKGROUND_PRIORITY = 1_000_000;

/** How many calls of an account go first; each further one goes behind accounts with fewer under way. */
const CALLS_GOING_FIRST = 4;

/** Calls of an account that count together: those it waits for apart from those it comes back for. */
export interface Line {
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
  take(call: Line & { accountId: number; key: string; callId: string; deadlineAt: number }): number;
  /** Returns the priority `take` would give, without counting. A key is known from its first queued call on. */
  peek(line: Line & { key: string }): number;
  /** The call has ended. */
  end(callId: string): void;
}

const SWEEP_EVERY_CALLS = 1_000;

const KEYS_KNOWN = 10_000;

/** Counts the calls one gateway has queued, so each gateway gives an account places of its own. */
export function createFairness(now: () => number): Fairness {
  /** How many calls of a line are under way. */
  const underWay = new Map<string, number>();
  const calls = new Map<string, { line: string; deadlineAt: number }>();
  const accounts = new LRUCache<string, number>({ max: KEYS_KNOWN });
  let sinceSweep = 0;

  const nameOf = ({ pool, waiting }: Line, accountId: number) => `${pool}/${waiting}/${accountId}`;

  function end(callId: string): void {
    const call = calls.get(callId);
    if (!call) return;
    calls.delete(callId);
    const left = (underWay.get(call.line) ?? 0) - 1;
    if (left > 0) underWay.set(call.line, left);
    else underWay.delete(call.line);
  }

  /** The completion message of a call may be lost. */
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
      const line = nameOf(place, accountId);
      const nth = (underWay.get(line) ?? 0) + 1;
      underWay.set(line, nth);
      calls.set(callId, { line, deadlineAt });
      return priorityOf(nth);
    },
    peek({ key, ...place }) {
      const accountId = accounts.get(key);
      return accountId === undefined ? 0 : priorityOf((underWay.get(nameOf(place, accountId)) ?? 0) + 1);
    },
    end,
  };
}

/** @param nth how many calls of its line are under way with this one. */
function priorityOf(nth: number): number {
  return nth <= CALLS_GOING_FIRST ? 0 : Math.min(nth, BACKGROUND_PRIORITY - 1);
}
