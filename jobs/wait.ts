import { findCalls } from '../src/billing/calls.ts';
import { type Clock, every } from '../src/platform/clock.ts';
import { MicroBatcher } from '../src/platform/db/micro-batcher.ts';
import type { Database } from '../src/platform/db/pool.ts';
import type { Logger } from '../src/platform/log.ts';
import type { Redis } from '../src/platform/redis.ts';
import type { RedisKeys } from '../src/platform/redis-keys.ts';
import type { CallEvents } from '../src/platform/telemetry/call-events.ts';
import { type CompletionMessage, completionMessage, onCompletion } from './completion-message.ts';

/** A call to wait for. */
export interface Awaited {
  accountId: number;
  callId: string;
}

/** The requests of a gateway process that wait for jobs. */
export interface CompletionMap {
  /**
   * Resolves when the call ends, or with null after `timeoutMs`.
   * @param call one that this process is about to submit (`ours`), or one that another process submitted and that may
   *   have ended already.
   */
  wait(call: Awaited, timeoutMs: number, ours: boolean): Promise<CompletionMessage | null>;
  /** Adds a listener for the ends of all jobs. */
  onEnded(listener: (message: CompletionMessage) => void): void;
  /** True after `close`. */
  readonly closed: boolean;
  /** Ends all waits with null. */
  close(): Promise<void>;
}

/** Calls that requests wait for are looked up this often, in case a message was lost. */
const CHECK_EVERY_MS = 5_000;

interface Waiter {
  call: Awaited;
  resolve(message: CompletionMessage | null): void;
}

/** @param subscriber a Redis connection for subscriptions only. */
export async function openCompletionMap(deps: {
  subscriber: Redis;
  keys: RedisKeys;
  database: Database;
  clock: Clock;
  log: Logger;
  events: CallEvents;
}): Promise<CompletionMap> {
  const { subscriber, keys, database, clock, log, events } = deps;
  const waiters = new Map<string, Set<Waiter>>();
  const listeners: ((message: CompletionMessage) => void)[] = [];

  function resolveWaiters(message: CompletionMessage): void {
    for (const waiter of waiters.get(message.callId) ?? []) waiter.resolve(message);
  }

  const lookUps = new MicroBatcher<Awaited, void>(async (calls) => {
    for (const call of await findCalls(database, calls))
      if (call.state !== 'reserved') resolveWaiters(completionMessage(call));
    return calls.map(() => undefined);
  });

  const lookUp = (call: Awaited) =>
    lookUps.submit(call).catch((error) => log.warn({ err: error }, 'failed to look up a waiting call'));

  async function lookUpAll(): Promise<void> {
    const calls = [...waiters.values()].flatMap((set) => [...set].slice(0, 1).map(({ call }) => call));
    await Promise.all(calls.map(lookUp));
  }

  // Messages are lost while the connection is down.
  subscriber.on('ready', () => void lookUpAll());
  await onCompletion(deps, keys, (completion) => {
    resolveWaiters(completion);
    for (const listener of listeners) listener(completion);
  });
  let closed = false;
  const stopChecking = every(clock, CHECK_EVERY_MS, lookUpAll);

  return {
    wait(call, timeoutMs, ours) {
      return new Promise((resolve) => {
        if (closed) {
          resolve(null);
          return;
        }
        const alreadyAwaited = waiters.has(call.callId);
        const set = waiters.get(call.callId) ?? new Set<Waiter>();
        waiters.set(call.callId, set);
        const waiter: Waiter = {
          call,
          resolve(message) {
            cancel();
            set.delete(waiter);
            if (set.size === 0) waiters.delete(call.callId);
            resolve(message);
          },
        };
        const cancel = clock.after(timeoutMs, () => waiter.resolve(null), 'call wait');
        set.add(waiter);
        events.emit({ type: 'call.awaited', ...call });
        // The message may have been published before this process listened for it; an earlier waiter would have
        // received it.
        if (!ours && !alreadyAwaited) void lookUp(call);
      });
    },
    onEnded: (listener) => listeners.push(listener),
    get closed() {
      return closed;
    },
    async close() {
      closed = true;
      await stopChecking();
      for (const set of waiters.values()) for (const waiter of [...set]) waiter.resolve(null);
    },
  };
}
