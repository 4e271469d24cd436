import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import type { Ended, Settlements } from '../src/billing/settlement.ts';
import { POOL_NAMES } from '../src/operations/pools.ts';
import { listen } from '../src/platform/channel.ts';
import { type Clock, sleep } from '../src/platform/clock.ts';
import { MINUTE_MS } from '../src/platform/durations.ts';
import { type ErrorRecord, errorRecordSchema, SoukError, toRecord } from '../src/platform/errors.ts';
import type { Logger } from '../src/platform/log.ts';
import { hasShardedChannels, type Redis } from '../src/platform/redis.ts';
import type { RedisKeys } from '../src/platform/redis-keys.ts';
import type { CallEvents } from '../src/platform/telemetry/call-events.ts';
import { type AnswerStore, OWN_ANSWER } from '../src/results/answer-store.ts';

const completionSchema = z.object({
  callId: z.string(),
  pool: z.enum(POOL_NAMES),
  state: z.enum(['settled', 'released']),
  unitsCharged: z.number(),
  error: errorRecordSchema.nullable(),
  /** Run time, without waiting in the queue or for tokens; null if the job did not complete. */
  durationMs: z.number().nullable(),
});

/** Says that a call has ended, for processes that wait for it. PostgreSQL has the authoritative state. */
export type CompletionMessage = z.output<typeof completionSchema>;

/** A released call has an error, a settled one has none. */
export function completionMessage(
  {
    callId,
    pool,
    error,
    unitsCharged,
  }: Pick<CompletionMessage, 'callId' | 'pool' | 'error' | 'unitsCharged'>,
  durationMs: number | null = null,
): CompletionMessage {
  return { callId, pool, state: error ? 'released' : 'settled', unitsCharged, error, durationMs };
}

/** How long a process is registered for a call: longer than a request waits for it. */
const REGISTERED_MS = 15 * MINUTE_MS;

/** Begins the id of a process whose channel is sharded, so that publishers need not know which channels its Redis has. */
const SHARDED = 'sharded-';

/** Receives each completion message that a process has decoded. */
export type ReceivedSink = (channel: 'own' | 'common') => void;

/**
 * Receives the ends of calls in a process, which is a gateway or a worker of the pool `batch`. It subscribes to a
 * channel of its own, and to the common channel for calls whose job names no process.
 * @param subscriber a Redis connection for subscriptions only.
 */
export async function openCompletionChannel(deps: {
  redis: Redis;
  subscriber: Redis;
  keys: RedisKeys;
  log: Logger;
  onReceived: ReceivedSink;
}) {
  const { redis, keys, log, onReceived } = deps;
  const isSharded = await hasShardedChannels(redis);
  const id = `${isSharded ? SHARDED : ''}${randomUUID()}`;
  const listeners = new Set<(message: CompletionMessage) => void>();
  const receiveFrom = (channel: 'own' | 'common') => (message: CompletionMessage) => {
    onReceived(channel);
    for (const listener of listeners) listener(message);
  };
  await listen(deps, keys.completionsChannel(id), completionSchema, receiveFrom('own'), isSharded);
  await listen(deps, keys.jobsChannel, completionSchema, receiveFrom('common'));
  return {
    /** Names the process in the payloads of the jobs that it submits. */
    id,

    /**
     * Makes this process receive the end of a call that another process may have submitted. An end before that is in PostgreSQL.
     * A failure is only logged, because waiting calls are looked up.
     */
    async register(callId: string): Promise<void> {
      const key = keys.waiting(callId);
      try {
        await redis.multi().sadd(key, id).pexpire(key, REGISTERED_MS).exec();
      } catch (error) {
        log.warn({ err: error, callId }, 'failed to register for the end of a call');
      }
    },
    /** Adds a listener for the ends of the calls of all accounts. @returns a function that removes it. */
    onEnded(listener: (message: CompletionMessage) => void): () => void {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
  };
}

/**
 * Publishes the end of a call to the processes that wait for it.
 * @param channelId of the process that submitted its job. Without it, as in a job that was put back, all processes receive
 *   the message.
 */
export async function publishCompletion(
  redis: Redis,
  keys: RedisKeys,
  message: CompletionMessage,
  channelId: string | undefined,
): Promise<void> {
  const text = JSON.stringify(message);
  if (channelId === undefined) {
    await redis.publish(keys.jobsChannel, text);
    return;
  }
  const waiting = keys.waiting(message.callId);
  // The process that submitted the job does not wait for the look-up of the others.
  const [registered] = await Promise.all([redis.smembers(waiting), publishTo(redis, keys, channelId, text)]);
  if (registered.length === 0) return;
  const others = registered.filter((id) => id !== channelId);
  await Promise.all([
    ...others.map((id) => publishTo(redis, keys, id, text)),
    // A process that registers from now on finds the end in PostgreSQL.
    redis.del(waiting),
  ]);
}

function publishTo(redis: Redis, keys: RedisKeys, id: string, text: string): Promise<unknown> {
  const channel = keys.completionsChannel(id);
  return id.startsWith(SHARDED) ? redis.spublish(channel, text) : redis.publish(channel, text);
}

/** A settled call has an answer and is charged at most `units`; a released call has an error. */
type CallOutcome = { units: number; answer: string } | { error: ErrorRecord };

/** When a job first asked the source of its data, and when the last answer arrived; Unix milliseconds. */
export interface SourceTimes {
  askedAt: number | null;
  answeredAt: number | null;
}

/** Attempts at the job of a call; 0 if the job has not started. */
export interface Attempts extends Partial<SourceTimes> {
  /** Unix milliseconds. */
  startedAt: number | null;
  attempts: number;
}

const NOT_STARTED: Attempts = { startedAt: null, attempts: 0 };

interface EndDeps {
  settlements: Settlements;
  events: CallEvents;
}

interface CallToEnd {
  accountId: number;
  callId: string;
  operation: string;
}

/** Settles or releases a call, once: a second ending changes nothing. @returns null if the call does not exist. */
export async function endCall(
  { settlements, events }: EndDeps,
  { accountId, callId, operation }: CallToEnd,
  outcome: CallOutcome,
  attempts: Attempts = NOT_STARTED,
): Promise<Ended | null> {
  const nothing = { units: 0, answer: null, error: null };
  const ended = await settlements.end({ accountId, callId, ...attempts, ...nothing, ...outcome });
  if (!ended?.endedNow) return ended;
  const call = { operation, accountId, callId };
  if ('error' in outcome) events.emit({ type: 'call.released', ...call, error: outcome.error.kind });
  else events.emit({ type: 'call.settled', ...call, units: ended.unitsCharged });
  return ended;
}

/**
 * Ends a call whose job has failed: an open call is released. A settled call is refunded if its answer is lost, because
 * the job had to make the answer again; otherwise it does not change. @returns how the call ended (null if it does not
 * exist), and the error that its callers receive (null if it has its answer).
 */
export async function endFailedCall(
  deps: EndDeps & { answers: Pick<AnswerStore, 'load'> },
  call: CallToEnd,
  error: ErrorRecord,
  attempts?: Attempts,
): Promise<{ ended: Ended | null; error: ErrorRecord | null }> {
  const ended = await endCall(deps, call, { error }, attempts);
  if (ended?.state !== 'settled') return { ended, error };
  if (await deps.answers.load(call.callId, OWN_ANSWER)) return { ended, error: null };
  return refundLost(deps, call, error);
}

/** Refunds a settled call whose answer is lost, or lacks what was charged. @returns how the call ended, and the error of its callers. */
export async function refundLost(
  deps: EndDeps,
  call: CallToEnd,
  error: ErrorRecord,
): Promise<{ ended: Ended; error: ErrorRecord }> {
  const refund = refundError(error);
  const units = await deps.settlements.refund(call, refund);
  noteRefund(deps, call, units, error);
  return { ended: { endedNow: units !== null, state: 'released', unitsCharged: 0 }, error: refund };
}

/** Returns the error of a refunded call, which says why it costs nothing any more. */
export function refundError({ message, ...error }: ErrorRecord): ErrorRecord {
  return {
    ...error,
    message: `${message} The answer that was stored for this call is lost, and its units are refunded.`,
  };
}

/** @param units null if the call was not refunded. */
export function noteRefund(
  { events }: Pick<EndDeps, 'events'>,
  { accountId, callId, operation }: CallToEnd,
  units: number | null,
  { kind: error }: ErrorRecord,
): void {
  if (units !== null) events.emit({ type: 'call.refunded', operation, accountId, callId, units, error });
}

export interface GiveBackDeps {
  settlements: Settlements;
  clock: Clock;
  events: CallEvents;
  log: Logger;
}

const FIRST_PAUSE_MS = 1_000;
const LONGEST_PAUSE_MS = 10_000;

const REFUSED = toRecord(
  new SoukError('BUSY', {
    message: 'The request for this call was refused, so the call costs nothing; retry.',
  }),
);

/**
 * Releases a call whose caller is refused although the call was admitted, or refunds it if it has been charged meanwhile. Resolves
 * after the first attempt, so the caller waits for it: this process may end as soon as it has refused the request. If the attempt
 * fails, further ones go on in the background until PostgreSQL answers.
 * @param afterMs until PostgreSQL begins no admission of this call any more.
 */
export async function giveBack(deps: GiveBackDeps, call: CallToEnd, afterMs = 0): Promise<void> {
  try {
    if (afterMs > 0) await sleep(deps.clock, afterMs, undefined, 'refused call');
    await releaseOrRefund(deps, call);
  } catch (error) {
    deps.log.warn({ err: error, callId: call.callId }, 'failed to release the call of a refused request');
    void giveBackLater(deps, call);
  }
}

async function giveBackLater(deps: GiveBackDeps, call: CallToEnd): Promise<void> {
  const { clock, log } = deps;
  const { callId } = call;
  for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(2 * pauseMs, LONGEST_PAUSE_MS)) {
    await sleep(clock, pauseMs, undefined, 'refused call');
    try {
      await releaseOrRefund(deps, call);
      log.info({ callId }, 'ended the call of a refused request');
      return;
    } catch (error) {
      log.warn({ err: error, callId }, 'failed to release the call of a refused request');
    }
  }
}

/** A call that does not exist was not admitted. */
async function releaseOrRefund(deps: GiveBackDeps, call: CallToEnd): Promise<void> {
  const ended = await endCall(deps, call, { error: REFUSED });
  if (ended?.state === 'settled')
    noteRefund(deps, call, await deps.settlements.refund(call, REFUSED), REFUSED);
}
