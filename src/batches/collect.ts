import pLimit from 'p-limit';
import type { ClientBase } from 'pg';
import { noteRefund, refundError } from '../../jobs/end-call.ts';
import { enqueueAgain } from '../../jobs/polled.ts';
import { type Call, findCall } from '../billing/calls.ts';
import { refundCall } from '../billing/settlement.ts';
import type { QueuedOperation } from '../operations/define.ts';
import { existingOperation } from '../operations/index.ts';
import { WEBHOOK_LIMITS } from '../outbox/webhooks/webhook-limits.ts';
import { inTransaction } from '../platform/db/transaction.ts';
import { type ErrorKind, type ErrorRecord, SoukError, toRecord } from '../platform/errors.ts';
import { parseJson } from '../platform/json.ts';
import { isStoreDown } from '../platform/outage.ts';
import { type Answer, OWN_ANSWER } from '../results/answer-store.ts';
import { decompress, gzip } from '../results/compression.ts';
import { type CollectableCall, endedCalls } from './batch-calls.ts';
import { runsOf, splitCall } from './bundle.ts';
import { rowsBefore, storeRows } from './changes.ts';
import {
  type CallEnding,
  changeOne,
  endCall,
  endOf,
  lockCall,
  postponeCollection,
  returnToPending,
} from './ending.ts';
import { type FeedDeps, feedCall } from './feed.ts';
import { type CallAnswer, type ItemResult, itemResults, resultLines, storeChanged } from './results.ts';
import { compareWithConditions, lockTracker } from './trackers/check.ts';
import { compareScreen } from './trackers/screen-check.ts';

/** Number of calls that are collected in one round, concurrently. */
const MOST_AT_ONCE = 100;
const COLLECTED_TOGETHER = 2;

/** A call that was taken this long ago but never admitted is lost. */
const LOST_AFTER_MS = 10_000;

/** Errors after which a call is retried, the number of attempts, and the first pause, which quadruples with each attempt. */
const PASSING: ReadonlySet<ErrorKind> = new Set([
  ...(['UPSTREAM_ERROR', 'UPSTREAM_TIMEOUT', 'BUSY', 'INTERNAL'] as const),
  // Another request has cancelled the job that the batch had joined.
  'CANCELLED',
]);
const MOST_ATTEMPTS = 4;
const FIRST_PAUSE_MS = 15_000;

/** The pause between checks whether a lost answer has been recreated. */
const COLLECT_AGAIN_MS = 30_000;

/** Collects the calls that have ended, with their results. @returns whether there were any. */
export async function collectCalls(deps: FeedDeps): Promise<boolean> {
  const { database, clock, log } = deps;
  const now = clock.now();
  const { ended, unknown } = await endedCalls(database, now - LOST_AFTER_MS, now, MOST_AT_ONCE);
  for (const call of unknown) {
    await feedCall(deps, { ...call, window: 'any', minuteReservedUntil: null }, call, endOf(call.batchState));
  }
  const limit = pLimit(COLLECTED_TOGETHER);
  await Promise.all(
    ended.map((call) =>
      limit(() =>
        collect(deps, call).catch((error: unknown) => {
          log.error({ err: error, batchId: call.batchId, callId: call.callId }, 'failed to collect a call');
          if (!isStoreDown(error)) return leaveForLater(deps, call);
        }),
      ),
    ),
  );
  return ended.length > 0;
}

/** Collects a call in one transaction, so that an interruption leaves nothing half done. */
async function collect(deps: FeedDeps, call: CollectableCall): Promise<void> {
  const { database, clock, onFinished } = deps;
  await inTransaction(database, async (client) => {
    if (!(await lockCall(client, call))) return;
    const booked = await findCall(client, call.accountId, call.callId);
    if (!booked) return;
    if (booked.error) return endFailed(deps, client, call, booked.error);
    const answer = await deps.answers.load(call.callId, booked.answer ?? OWN_ANSWER);
    if (answer) return endAnswered(deps, client, call, booked, answer);
    const ending = await makeAgain(deps, client, call);
    if (ending !== 'later') await endCall(client, call, ending, clock.now(), onFinished);
  });
}

/** Returns a failed call to the pending ones if it may pass the next time; otherwise it ends. */
async function endFailed(
  { clock, onFinished }: FeedDeps,
  client: ClientBase,
  call: CollectableCall,
  error: ErrorRecord,
): Promise<void> {
  const ending = failureOf(call, error, clock.now());
  if (ending === 'again') await returnToPending(client, call, clock.now() + pauseMs(call.attempts));
  else await endCall(client, call, ending, clock.now(), onFinished);
}

/** Items whose data could not be fetched become calls of their own, which end like failed calls. */
async function endAnswered(
  deps: FeedDeps,
  client: ClientBase,
  call: CollectableCall,
  booked: Call,
  answer: Answer,
): Promise<void> {
  const { clock, onFinished } = deps;
  const operation = existingOperation(call.operation);
  const runs = runsOf(operation, itemResults(operation, call, await readAnswer(answer)));
  const parts = await splitCall(client, operation, call, runs);
  let unitsCharged = call.joined ? 0 : booked.unitsCharged;
  for (const [i, { results, failure }] of runs.entries()) {
    const part = parts[i] as CollectableCall;
    if (failure !== null) {
      await endFailed(deps, client, part, toRecord(new SoukError(failure)));
      continue;
    }
    const ending = await successOf(deps, client, part, results, unitsCharged);
    unitsCharged = 0;
    await endCall(client, part, ending, clock.now(), onFinished);
  }
}

/** Postpones a call that cannot be collected, so that it does not delay others. After the deadline it fails. */
async function leaveForLater(deps: FeedDeps, call: CollectableCall): Promise<void> {
  const { clock, onFinished } = deps;
  await changeOne(deps, call.batchId, async (client) => {
    if (!(await lockCall(client, call))) return;
    if (hasTime(call, clock.now())) return postponeCollection(client, call, clock.now() + COLLECT_AGAIN_MS);
    await endCall(client, call, await lost(deps, client, call), clock.now(), onFinished);
  });
}

/** Returns whether the batch still has time for this call. */
function hasTime({ batchState, deadlineAt }: CollectableCall, now: number): boolean {
  return batchState === 'running' && now < deadlineAt;
}

/** Refunds a call whose answer can be neither read nor made again. A call that the batch joined belongs to its own request. */
async function lost(deps: FeedDeps, client: ClientBase, call: CollectableCall): Promise<CallEnding> {
  const error = toRecord(new SoukError('INTERNAL', { message: 'The answer was lost.' }));
  if (!call.joined) {
    const units = await refundCall(client, call, refundError(error), deps.clock.now());
    noteRefund(deps, call, units, error);
  }
  return { state: 'failed', error };
}

function pauseMs(attempts: number): number {
  return FIRST_PAUSE_MS * 4 ** (attempts - 1);
}

function failureOf({ batchState, attempts, deadlineAt }: CollectableCall, error: ErrorRecord, now: number) {
  if (batchState === 'cancelled') return { state: 'cancelled', error } as const;
  if (!PASSING.has(error.kind)) return { state: 'failed', error } as const;
  if (batchState === 'expired' || now >= deadlineAt)
    return { state: 'failed', error: toRecord(new SoukError('DEADLINE_PASSED')) } as const;
  const canWait = attempts < MOST_ATTEMPTS && now + pauseMs(attempts) < deadlineAt;
  return canWait ? 'again' : ({ state: 'failed', error } as const);
}

/** The answer is paid for, so it is made again at no charge while the batch has time. If that fails, the call is refunded. */
async function makeAgain(
  deps: FeedDeps,
  client: ClientBase,
  call: CollectableCall,
): Promise<CallEnding | 'later'> {
  const { clock, log } = deps;
  if (!hasTime(call, clock.now())) return lost(deps, client, call);
  log.warn({ callId: call.callId }, 'the answer to a call of a batch was lost');
  // A job that is already there does not change.
  await enqueueAgain(deps, existingOperation(call.operation), call, true);
  deps.onFed(call.callId);
  await postponeCollection(client, call, clock.now() + COLLECT_AGAIN_MS);
  return 'later';
}

async function successOf(
  deps: FeedDeps,
  client: ClientBase,
  call: CollectableCall,
  results: ItemResult[],
  unitsCharged: number,
): Promise<CallEnding> {
  const { shown, changes } = await changedOf(deps, client, existingOperation(call.operation), call, results);
  return {
    state: 'done',
    lines: await gzip(resultLines(shown)),
    changes,
    unitsCharged,
    unchangedItems: results.length - shown.length,
  };
}

/** Returns the results that the batch shows, and their changes. Those of a tracker's batch are compared with its conditions. */
async function changedOf(
  { clock, webhooks }: FeedDeps,
  client: ClientBase,
  operation: QueuedOperation,
  { onlyChanges, scheduleId, batchId, input }: CollectableCall,
  results: ItemResult[],
): Promise<{ shown: ItemResult[]; changes: Buffer | null }> {
  if (!onlyChanges || scheduleId === null) return { shown: results, changes: null };
  const tracker = await lockTracker(client, scheduleId);
  const limits = webhooks.limits ?? WEBHOOK_LIMITS;
  if (tracker?.screen) {
    const { screen } = tracker;
    for (const result of results)
      await compareScreen(client, { ...tracker, screen }, { batchId, result }, limits, clock.now());
    return { shown: results, changes: null };
  }
  const before = tracker ? null : await rowsBefore(client, scheduleId, results);
  const shown = await storeChanged(client, scheduleId, results);
  const changes = before && (await storeRows(client, scheduleId, { operation, input }, shown, before));
  if (tracker) await compareWithConditions(client, tracker, { batchId, results: shown }, limits, clock.now());
  return { shown, changes };
}

/** JSON can contain a picture only as text. */
async function readAnswer({ meta, body }: Answer): Promise<CallAnswer> {
  const bytes = await decompress({ encoding: meta.encoding, bytes: body });
  if (meta.contentType.startsWith('image/'))
    return { data: { contentType: meta.contentType, base64: bytes.toString('base64') } };
  return parseJson(bytes.toString('utf8')) as CallAnswer;
}
