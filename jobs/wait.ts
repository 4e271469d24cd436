import { type Call, findCalls } from '../src/billing/calls.ts';
import { MicroBatcher } from '../src/platform/db/micro-batcher.ts';
import type { Redis } from '../src/platform/redis.ts';
import type { Stores } from '../src/platform/stores.ts';
import type { CallEvents } from '../src/platform/telemetry/call-events.ts';
import {
  type CompletionMessage,
  completionMessage,
  openCompletionChannel,
  type ReceivedSink,
} from './end-call.ts';

/** A call to wait for. */
type AwaitedId = Pick<Call, 'accountId' | 'callId'>;

/**
 * A call is looked up when requests have waited this long for it, and then with longer pauses, in case its message was lost.
 * Most calls end earlier.
 */
const FIRST_LOOK_MS = 5_000;
const NEXT_LOOK_MS = 10_000;

type Waiter = (message: CompletionMessage | null) => void;

export type CompletionMap = Awaited<ReturnType<typeof openCompletionMap>>;

/**
 * Opens what the requests of a gateway process wait with for jobs. The calls for which they wait are looked up from time to time.
 * @param deps.subscriber a Redis connection for subscriptions only.
 */
export async function openCompletionMap(
  deps: Pick<Stores, 'database' | 'redis' | 'keys' | 'clock' | 'log'> & {
    subscriber: Redis;
    events: CallEvents;
    onReceived: ReceivedSink;
  },
) {
  const { database, subscriber, clock, events, log } = deps;
  /** By the ids of the calls. */
  const awaited = new Map<string, AwaitedId & { waiters: Set<Waiter>; stopLooking(): void }>();
  let closed = false;

  function resolveWaiters(message: CompletionMessage): void {
    for (const resolve of awaited.get(message.callId)?.waiters ?? []) resolve(message);
  }

  const lookUps = new MicroBatcher<AwaitedId, void>(async (calls) => {
    for (const call of await findCalls(database, calls))
      if (call.state !== 'reserved') resolveWaiters(completionMessage(call));
    return calls.map(() => undefined);
  });

  const lookUp = (call: AwaitedId) =>
    lookUps.submit(call).catch((error) => log.warn({ err: error }, 'failed to look up a waiting call'));

  function track(call: AwaitedId) {
    const tracked = { ...call, waiters: new Set<Waiter>(), stopLooking: () => {} };
    const lookAfter = (pauseMs: number) => {
      tracked.stopLooking = clock.after(pauseMs, () => {
        void lookUp(call);
        lookAfter(NEXT_LOOK_MS);
      });
    };
    awaited.set(call.callId, tracked);
    lookAfter(FIRST_LOOK_MS);
    return tracked;
  }

  // Messages are lost while the connection is down.
  const lookUpAll = () => void Promise.all([...awaited.values()].map(lookUp));
  subscriber.on('ready', lookUpAll);
  // The event of the connections to the nodes of sharded channels.
  subscriber.on('subscribersReady', lookUpAll);
  const channel = await openCompletionChannel(deps);
  channel.onEnded(resolveWaiters);

  return {
    /** The id of this process's completion channel, for the jobs that it submits. */
    channel: channel.id,
    /** Makes this process receive the end of a call whose job it may put into the queue alongside another process. */
    register: channel.register,
    /**
     * Resolves when the call ends, or with null after `timeoutMs`.
     * @param call one that this process is about to submit (`ours`), or one that another process submitted and that may
     *   have ended already. For the latter, this process registers, and looks the call up.
     */
    wait(call: AwaitedId, timeoutMs: number, ours: boolean): Promise<CompletionMessage | null> {
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
          if (waiters.size === 0) {
            awaited.get(callId)?.stopLooking();
            awaited.delete(callId);
          }
          resolve(message);
        };
        const cancel = clock.after(timeoutMs, () => waiter(null), 'call wait');
        waiters.add(waiter);
        events.emit({ type: 'call.awaited', ...call });
        // The message may have been published before this process was registered; an earlier waiter would have received it.
        if (!ours && !known) void channel.register(callId).then(() => lookUp(call));
      });
    },
    /** Adds a listener for the ends of the jobs that this process receives. */
    onEnded: (listener: (message: CompletionMessage) => void) => void channel.onEnded(listener),
    /** True after `close`. */
    get closed() {
      return closed;
    },
    /** Ends all waits with null. */
    async close(): Promise<void> {
      closed = true;
      for (const { waiters } of awaited.values()) for (const resolve of [...waiters]) resolve(null);
    },
  };
}
