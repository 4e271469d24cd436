import { parentPort, workerData } from 'node:worker_threads';
import { onControl } from '../../jobs/control.ts';
import type { Payload } from '../../jobs/payload.ts';
import { databaseClock } from '../../src/platform/db/pool.ts';
import { createLogger } from '../../src/platform/log.ts';
import { outageOf } from '../../src/platform/outage.ts';
import { type CallEvent, createCallEvents } from '../../src/platform/telemetry/call-events.ts';
import { openTracing } from '../../src/platform/telemetry/tracing.ts';
import { TokensAwaited } from '../../src/upstream/token-bucket.ts';
import { openJobStores, openLiveJobs } from '../live-jobs.ts';
import {
  CONNECTIONS,
  type FromThread,
  PAUSING_SHARE,
  type SentAttempt,
  type ThreadSetup,
  type ToThread,
} from './messages.ts';

/** Runs large jobs that the main thread sends. It has its own connections, and passes events on. */
const { logLevel, tracesUrl, ...settings } = workerData as ThreadSetup;
const post = (message: FromThread) => parentPort?.postMessage(message);
const fault = (store: 'postgresql' | 'cache') => (error: unknown) =>
  post({ kind: 'fault', store, outage: outageOf(error) });

const log = createLogger(logLevel);
const tracing = await openTracing(tracesUrl, 'souk-worker', (reason) =>
  log.warn({ reason }, 'failed to send traces'),
);
const clock = databaseClock();
const onError = { postgresql: fault('postgresql'), cache: fault('cache') };
const stores = await openJobStores(settings, CONNECTIONS, onError, log);
const stopFollowing = await clock.follow(stores.database, log);
const events = createCallEvents(log, [(event) => post({ kind: 'event', event: sendable(event) })]);
const jobs = await openLiveJobs(
  settings,
  // Operations that query reports are not large.
  { ...stores, reports: stores.database },
  { events, tracing, clock, log, pausingShare: PAUSING_SHARE, isSecond: true },
);
await onControl({ subscriber: stores.subscriber, log }, stores.keys, jobs.executor.control);
const running = new Map<number, AbortController>();
post({ kind: 'ready' });

parentPort?.on('message', (message: ToThread) => {
  if (message.kind === 'run') void run(message.id, message.attempt);
  else if (message.kind === 'stop') running.get(message.id)?.abort(message.reason);
  else if (message.kind === 'ping') post({ kind: 'pong' });
  else void close();
});

async function run(id: number, attempt: SentAttempt): Promise<void> {
  const controller = new AbortController();
  running.set(id, controller);
  const onProgress = (percent: number) => post({ kind: 'progress', id, percent });
  try {
    await noteCancelled(attempt.data as Payload);
    const completion = await jobs.executor.execute({ ...attempt, signal: controller.signal, onProgress });
    post({ kind: 'ended', id, completion });
  } catch (error) {
    const awaited = error instanceof TokensAwaited ? { awaitedMs: error.waitMs } : {};
    post({ kind: 'failed', id, error: sendableError(error), ...awaited });
  } finally {
    running.delete(id);
  }
}

/** A call may have been cancelled before this thread listened. */
async function noteCancelled({ callId }: Payload): Promise<void> {
  if (await stores.redis.exists(stores.keys.cancelled(callId)))
    jobs.executor.control({ action: 'cancel', callId });
}

async function close(): Promise<void> {
  await jobs.close();
  await stopFollowing();
  await stores.close();
  await tracing?.close();
  process.exit();
}

function sendable(event: CallEvent): CallEvent {
  return event.type === 'failure' && event.cause instanceof Error
    ? { ...event, cause: sendableError(event.cause) }
    : event;
}

/** Returns the texts of an error and of its causes: its other properties may be objects that cannot be sent. */
function sendableError(error: unknown): Error {
  if (!(error instanceof Error)) return new Error(String(error));
  const { message, stack, cause } = error;
  const sent = new Error(message, cause === undefined ? {} : { cause: sendableError(cause) });
  if (stack !== undefined) sent.stack = stack;
  return sent;
}
