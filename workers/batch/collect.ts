import pLimit from 'p-limit';
import { enqueueAgain } from '../../jobs/lost-answer.ts';
import { POOLS, QUEUE_ALLOWANCE_MS } from '../../jobs/pools.ts';
import { keepChanged } from '../../src/batches/changes.ts';
import {
  type CallEnding,
  endCall,
  inTransaction,
  lockCall,
  type OnFinished,
  tryAgain,
} from '../../src/batches/ending.ts';
import { endedCalls, type ToCollect } from '../../src/batches/feeding.ts';
import {
  type CallAnswer,
  type ItemResult,
  itemResults,
  resultLines,
  resultRows,
} from '../../src/batches/lines.ts';
import { type Call, findCall } from '../../src/billing/calls.ts';
import { type ErrorKind, SoukError, toRecord } from '../../src/errors.ts';
import { parseJson } from '../../src/json.ts';
import type { QueuedOperation } from '../../src/operations/define.ts';
import { queuedOperation } from '../../src/operations/index.ts';
import { type Answer, OWN_ANSWER } from '../../src/results/answer-store.ts';
import { gzip, unpack } from '../../src/results/compression.ts';
import { type FeedDeps, feedAgain } from './feed.ts';

export interface CollectDeps extends FeedDeps {
  onFinished: OnFinished;
}

/** Calls collected in one go, and at the same time. */
const MOST_AT_ONCE = 100;
const COLLECTED_TOGETHER = 2;

/** A call that is not in the books so long after it was taken was lost on its way to them. */
const LOST_AFTER_MS = 10_000;

/** What may go better another time, how often it is tried in all, and how long after the first time; four times as long after each. */
const PASSING: ReadonlySet<ErrorKind> = new Set(['UPSTREAM_ERROR', 'UPSTREAM_TIMEOUT', 'BUSY', 'INTERNAL']);
const MOST_ATTEMPTS = 4;
const FIRST_PAUSE_MS = 15_000;

/** Notes the ends of calls, with what they brought. @returns whether there was anything to note. */
export async function collectCalls(deps: CollectDeps): Promise<boolean> {
  const { database, clock, log } = deps;
  const now = clock.now();
  const { ended, unknown } = await endedCalls(database, now - LOST_AFTER_MS, now, MOST_AT_ONCE);
  for (const call of unknown) {
    const { batchId, accountId, operation, deadlineAt } = call;
    const batch = {
      batchId,
      accountId,
      operation,
      deadlineAt,
      window: 'any',
      fed: 1,
      isWaiting: false,
    } as const;
    await feedAgain(deps, batch, call);
  }
  const limit = pLimit(COLLECTED_TOGETHER);
  await Promise.all(
    ended.map((call) =>
      limit(() =>
        collect(deps, call).catch((error: unknown) =>
          log.error({ err: error, batchId: call.batchId, callId: call.callId }, 'collecting a call failed'),
        ),
      ),
    ),
  );
  return ended.length > 0;
}

/** Everything about one call happens in one transaction, so whoever is interrupted has done nothing. */
async function collect(deps: CollectDeps, call: ToCollect): Promise<void> {
  const { database, clock, onFinished } = deps;
  await inTransaction(database, async (client) => {
    if (!(await lockCall(client, call))) return;
    const booked = await findCall(database, call.accountId, call.callId);
    if (!booked) return;
    const ending = booked.error
      ? failureOf(call, booked, clock.now())
      : await successOf(deps, client, call, booked);
    if (ending === 'lost') return;
    if (ending === 'again') await tryAgain(client, call, clock.now() + pauseMs(call.attempts));
    else await endCall(client, call, ending, clock.now(), onFinished);
  });
}

function pauseMs(attempts: number): number {
  return FIRST_PAUSE_MS * 4 ** (attempts - 1);
}

function failureOf(call: ToCollect, { error }: Call, now: number): CallEnding | 'again' {
  const record = error ?? toRecord(new SoukError('INTERNAL'));
  if (record.kind === 'CANCELLED') return { state: 'cancelled', error: record };
  if (call.batchState !== 'running')
    return { state: call.batchState === 'cancelled' ? 'cancelled' : 'failed', error: record };
  const hasTime = now + pauseMs(call.attempts) < call.deadlineAt;
  if (PASSING.has(record.kind) && call.attempts < MOST_ATTEMPTS && hasTime) return 'again';
  return { state: 'failed', error: record };
}

async function successOf(
  deps: CollectDeps,
  client: Parameters<typeof keepChanged>[0],
  call: ToCollect,
  booked: Call,
): Promise<CallEnding | 'lost'> {
  const { answers, clock, log } = deps;
  const operation = queuedOperation(call.operation);
  if (!operation) throw new Error(`no operation ${call.operation}`);
  const answer = await answers.load(call.callId, booked.answer ?? OWN_ANSWER);
  if (!answer) {
    // It is paid for, so it is made again for nothing; then this call is looked at again.
    log.warn({ callId: call.callId }, 'the answer to a call of a batch was lost');
    await enqueueAgain(deps, operation, call, true);
    const lookAgainAt = clock.now() + POOLS[call.pool].timeoutMs + QUEUE_ALLOWANCE_MS;
    await client.query('update batch_calls set not_before = $3 where batch_id = $1 and first_item = $2', [
      ...[call.batchId, call.firstItem, new Date(Math.min(lookAgainAt, call.deadlineAt))],
    ]);
    return 'lost';
  }
  const results = itemResults(operation, call, await readAnswer(answer));
  const shown: ItemResult[] =
    call.onlyChanges && call.scheduleId ? await keepChanged(client, call.scheduleId, results) : results;
  return {
    state: 'done',
    ...(await packed(operation, call, shown)),
    unitsCharged: call.joined ? 0 : booked.unitsCharged,
    unchangedItems: results.length - shown.length,
  };
}

async function packed(
  operation: QueuedOperation,
  call: ToCollect,
  results: readonly ItemResult[],
): Promise<{ lines: Buffer; tableRows: Buffer | null }> {
  const rows = resultRows(operation, call.input, results);
  return {
    lines: await gzip(resultLines(results)),
    tableRows: rows === null ? null : await gzip(rows),
  };
}

/** A picture has no place in JSON but as text. */
async function readAnswer({ meta, body }: Answer): Promise<CallAnswer> {
  const bytes = await unpack({ encoding: meta.encoding, bytes: body });
  if (meta.contentType.startsWith('image/'))
    return { data: { contentType: meta.contentType, base64: bytes.toString('base64') } };
  return parseJson(bytes.toString('utf8')) as CallAnswer;
}
