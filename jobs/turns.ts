import { LRUCache } from 'lru-cache';
import type { PoolName } from '../src/operations/pools.ts';

/** Calls of batches come after all others. Among themselves they take turns before they are queued. */
export const BACKGROUND_PRIORITY = 1_000_000;

/** How many calls an account may have under way before its next ones let others go first. */
const CALLS_BEFORE_TURNS = 4;

/** Calls of an account that count together: those it waits for apart from those it comes back for. */
export interface Line {
  pool: PoolName;
  waiting: 'caller' | 'poller';
}

/**
 * Gives accounts fair turns: the more calls one has under way, the further back its next one is put, so that one who
 * sends ten thousand at once waits for itself and not others for it.
 */
export interface Turns {
  /**
   * The priority of a call that is being queued: 0 goes first, higher numbers later.
   * @param key names the key that the account asks with.
   */
  take(call: Line & { accountId: number; key: string; callId: string; deadlineAt: number }): number;
  /** What `take` would say, without taking. A key is not known before the first call it has queued. */
  peek(line: Line & { key: string }): number;
  /** The call has ended. */
  end(callId: string): void;
}

const SWEEP_EVERY_CALLS = 1_000;

const KEYS_KNOWN = 10_000;

/** One gateway's turns. It counts the calls it has queued itself; several gateways give several first places. */
export function createTurns(now: () => number): Turns {
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

  /** The news of an end may be lost. */
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
  return nth <= CALLS_BEFORE_TURNS ? 0 : Math.min(nth, BACKGROUND_PRIORITY - 1);
}
