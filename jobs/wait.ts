import { findCalls } from '../src/billing/calls.ts';
import { MicroBatcher } from '../src/platform/db/micro-batcher.ts';
import type { Redis } from '../src/platform/redis.ts';
import type { RedisKeys } from '../src/platform/redis-keys.ts';
import type { Stores } from '../src/platform/stores.ts';
import type { CallEvents } from '../src/platform/telemetry/call-events.ts';
import {
  type CompletionMessage,
  completionMessage,
  openCompletionChannel,
  type ReceivedSink,
} from './end-call.ts';

/** A call to wait for. */
interface Awaited {
  accountId: number;
  callId: string;
}

/** The requests of a gateway process that wait for jobs. */
export interface CompletionMap {
  /** The id of this process's completion channel, for the jobs that it submits. */
  channel: string;
  /**
   * Resolves when the call ends, or with null after `timeoutMs`.
   * @param call one that this process is about to submit (`ours`), or one that another process submitted and that may
   *   have ended already. For the latter, this process registers, and looks the call up.
   */
  wait(call: Awaited, timeoutMs: number, ours: boolean): Promise<CompletionMessage | null>;
  /** Makes this process receive the end of a call whose job it may put into the queue alongside another process. */
  register(callId: string): Promise<void>;
  /** Adds a listener for the ends of the jobs that this process receives. */
  onEnded(listener: (message: CompletionMessage) => void): void;
  /** True after `close`. */
  readonly closed: boolean;
  /** Ends all waits with null. */
  close(): Promise<void>;
}

/**
 * A call is looked up when requests have waited this long for it, and then with longer pauses, in case its message was lost.
 * Most calls end earlier.
 */
const FIRST_LOOK_MS = 5_000;
const NEXT_LOOK_MS = 10_000;

type Waiter = (message: CompletionMessage | null) => void;

interface AwaitedCall extends Awaited {
  waiters: Set<Waiter>;
  /** Cancels its next look-up. */
  stopLooking(): void;
}

type LookUpDeps = Pick<Stores, 'database' | 'clock' | 'log'>;

/** @param subscriber a Redis connection for subscriptions only. */
export async function openCompletionMap(
  deps: LookUpDeps & {
    redis: Redis;
    subscriber: Redis;
    keys: RedisKeys;
    events: CallEvents;
    onReceived: ReceivedSink;
  },
): Promise<CompletionMap> {
  const { subscriber, clock, events } = deps;
  const { awaited, resolveWaiters, lookUp, track, forget } = createAwaitedCalls(deps);
  // Messages are lost while the connection is down.
  const lookUpAll = () => void Promise.all([...awaited.values()].map(lookUp));
  subscriber.on('ready', lookUpAll);
  // The event of the connections to the nodes of sharded channels.
  subscriber.on('subscribersReady', lookUpAll);
  const channel = await openCompletionChannel(deps);
  channel.onEnded(resolveWaiters);
  let closed = false;

  return {
    channel: channel.id,
    register: channel.register,
    wait(call, timeoutMs, ours) {
      return new Promise((resolve) => {
        if (closed) {
          resolve(null);
          return;
        }
        const { callId } = call;
        const known = awaited.get(callId);
        const { waiters } = known ?? track(call);
        const waiter: Waiter = (message) => {
          cancel();
          waiters.delete(waiter);
          if (waiters.size === 0) forget(callId);
          resolve(message);
        };
        const cancel = clock.after(timeoutMs, () => waiter(null), 'call wait');
        waiters.add(waiter);
        events.emit({ type: 'call.awaited', ...call });
        // The message may have been published before this process was registered; an earlier waiter would have received it.
        if (!ours && !known) void channel.register(callId).then(() => lookUp(call));
      });
    },
    onEnded: (listener) => void channel.onEnded(listener),
    get closed() {
      return closed;
    },
    async close() {
      closed = true;
      for (const { waiters } of awaited.values()) for (const resolve of [...waiters]) resolve(null);
    },
  };
}

/** The calls for which requests wait. Each is looked up from time to time until it is forgotten. */
function createAwaitedCalls({ database, clock, log }: LookUpDeps) {
  const awaited = new Map<string, AwaitedCall>();

  function resolveWaiters(message: CompletionMessage): void {
    for (const resolve of awaited.get(message.callId)?.waiters ?? []) resolve(message);
  }

  const lookUps = new MicroBatcher<Awaited, void>(async (calls) => {
    for (const call of await findCalls(database, calls))
      if (call.state !== 'reserved') resolveWaiters(completionMessage(call));
    return calls.map(() => undefined);
  });

  const lookUp = (call: Awaited) =>
    lookUps.submit(call).catch((error) => log.warn({ err: error }, 'failed to look up a waiting call'));

  function lookAfter(pauseMs: number, call: AwaitedCall): void {
    call.stopLooking = clock.after(pauseMs, () => {
      void lookUp(call);
      lookAfter(NEXT_LOOK_MS, call);
    });
  }

  return {
    /** By the ids of the calls. */
    awaited,
    resolveWaiters,
    lookUp,
    track(call: Awaited): AwaitedCall {
      const tracked: AwaitedCall = { ...call, waiters: new Set(), stopLooking: () => {} };
      awaited.set(call.callId, tracked);
      lookAfter(FIRST_LOOK_MS, tracked);
      return tracked;
    },
    forget(callId: string): void {
      awaited.get(callId)?.stopLooking();
      awaited.delete(callId);
    },
  };
}
