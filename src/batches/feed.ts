import { v7 as uuid } from 'uuid';
import { countAlive } from '../../jobs/backlog.ts';
import { endCall as release } from '../../jobs/end-call.ts';
import { poolsOf } from '../../jobs/payload.ts';
import { type Submission, type SubmitDeps, submit } from '../../jobs/submit.ts';
import type { Admission, MinuteRate } from '../billing/admission.ts';
import { type OffPeakWindow, offPeakOpening } from '../billing/wallets.ts';
import type { QueuedOperation } from '../operations/define.ts';
import { queuedOperation } from '../operations/index.ts';
import { POOL_NAMES, POOLS, type PoolName } from '../operations/pools.ts';
import { isClockRight } from '../platform/db/pool.ts';
import { inTransaction } from '../platform/db/transaction.ts';
import { ERRORS, type ErrorRecord, SoukError, toRecord } from '../platform/errors.ts';
import { stringifyJson } from '../platform/json.ts';
import type { Logger } from '../platform/log.ts';
import { isStoreDown } from '../platform/outage.ts';
import type { Redis } from '../platform/redis.ts';
import type { RedisKeys } from '../platform/redis-keys.ts';
import {
  countFed,
  endWaiting,
  type FedCall,
  type FedCount,
  markJoined,
  moveToBack,
  type PendingBatch,
  pauseFeeding,
  pendingBatches,
  returnToFeed,
  takeCalls,
} from './batch-calls.ts';
import { bundleItems, type Item } from './bundle.ts';
import { insertCalls, type PrepareDeps } from './create-batch.ts';
import { changeOne, endCall, lockCall, type OnFinished, postponeCollection } from './ending.ts';
import { createFeedingOrder, type FeedingOrder } from './feeding-order.ts';

export interface FeedDeps extends SubmitDeps {
  redis: Redis;
  keys: RedisKeys;
  offPeak: OffPeakWindow;
  log: Logger;
  /** Called for each call that is under way, so that its end is noticed immediately. */
  onFed(callId: string): void;
  /** Called for each of them whose job another process may have submitted. */
  onJoined(callId: string): Promise<void>;
  onFinished: OnFinished;
  webhooks: PrepareDeps['webhooks'];
}

/**
 * The outcome of feeding a call. ended: its answer was in the cache. joined: it waits for the job of another request, which may
 * have ended before this process was registered for its end. again: it was split or returned. refused: not now, and no other call
 * of this account either. unknown: whether it was admitted is determined later.
 */
type Outcome =
  | { kind: 'under way' | 'ended'; rate?: MinuteRate }
  | { kind: 'joined' | 'again' | 'refused' | 'unknown' };

/** How long to wait after a call could not be queued. */
const QUEUE_AWAY_MS = 5_000;

/** The share of a pool's capacity that batches may use. The rest is free for calls with waiting requests. */
const SHARE = 0.5;

/** Calls that are fed for a batch before the next account is served. */
const CALLS_A_TURN = 4;

/** The share of an account's calls per minute that its batches leave to its other requests. */
const RESERVED_MINUTE_SHARE = 0.2;

/** After this many cache hits, their results are collected before more calls are fed. */
const MOST_ENDED = 32;

/** What one round of feeding may still use. */
interface Round {
  order: FeedingOrder<PendingBatch>;
  /** How many more calls of batches each pool accepts. */
  room: Map<PoolName, number>;
  /** How many more calls per minute each account's batches may use; absent before the account's first call. */
  minuteCalls: Map<number, number>;
}

/**
 * Feeds batches once: as many calls as there is room for, alternating between accounts, the account with the fewest
 * calls under way first.
 * @returns whether some calls have ended or may have: their answers were in the cache, or they joined other calls.
 */
export async function feedBatches(deps: FeedDeps): Promise<boolean> {
  const { database, clock } = deps;
  if (!isClockRight(clock)) return false;
  const pending = await pendingBatches(database, clock.now());
  if (pending.length === 0) return false;
  const feedable = await letReservedOnesWait(deps, await letOffPeakOnesWait(deps, pending));
  const fed = await countFed(database);
  const order = createFeedingOrder(
    feedable,
    sumCalls(fed, ({ accountId }) => accountId),
  );
  const room = await roomByPool(
    deps,
    sumCalls(fed, ({ pool }) => pool),
  );
  const round = { order, room, minuteCalls: new Map() };
  let ended = 0;
  for (let batch = order.next(); batch && ended < MOST_ENDED; batch = order.next())
    ended += await feedTurn(deps, round, batch);
  return ended > 0;
}

function sumCalls<Key>(fed: readonly FedCount[], keyOf: (one: FedCount) => Key): Map<Key, number> {
  const sums = new Map<Key, number>();
  for (const one of fed) sums.set(keyOf(one), (sums.get(keyOf(one)) ?? 0) + one.calls);
  return sums;
}

/** Feeds some calls of a batch. @returns how many have ended or may have. */
async function feedTurn(deps: FeedDeps, round: Round, batch: PendingBatch): Promise<number> {
  const { database, clock } = deps;
  const { order, room, minuteCalls } = round;
  const { accountId, batchId } = batch;
  const calls = await submitSome(deps, round, batch);
  if (calls.length === 0) return 0;
  await moveToBack(database, batchId, clock.now());
  const outcomes = await Promise.all(calls.map((call) => feedCall(deps, batch, call)));
  for (const [i, { pool }] of calls.entries()) {
    const kind = outcomes[i]?.kind;
    if (kind === 'under way' || kind === 'joined' || kind === 'unknown')
      room.set(pool, (room.get(pool) ?? 0) - 1);
  }
  const left = minuteCallsLeft(outcomes);
  if (left) minuteCalls.set(accountId, left.calls);
  if (left && left.calls <= 0) {
    const ofAccount = [batch, ...order.dropAccount(accountId)].map((one) => one.batchId);
    await pauseFeeding(database, ofAccount, 'MINUTE_RESERVED', left.resetAt);
  } else if (outcomes.some(({ kind }) => kind === 'refused')) order.dropAccount(accountId);
  else order.putBack(batch, calls.length);
  return outcomes.filter(({ kind }) => kind === 'ended' || kind === 'joined').length;
}

/** Submits calls of one batch: as many as its account, its pools and the other accounts leave to it. */
async function submitSome(
  { database, clock }: FeedDeps,
  { room, minuteCalls }: Round,
  batch: PendingBatch,
): Promise<FedCall[]> {
  const pools = poolsOfBatch(batch).filter((pool) => (room.get(pool) ?? 0) > 0);
  if (pools.length === 0) return [];
  const size = Math.min(
    CALLS_A_TURN,
    minuteCalls.get(batch.accountId) ?? 1,
    ...pools.map((pool) => room.get(pool) ?? 0),
  );
  const callIds = Array.from({ length: size }, () => uuid());
  return takeCalls(database, batch.batchId, pools, callIds, clock.now());
}

/** Returns the pools that calls of a batch may use. */
function poolsOfBatch({ operation: name, accountId }: PendingBatch): readonly PoolName[] {
  const operation = queuedOperation(name);
  return operation ? poolsOf(accountId, operation) : POOL_NAMES;
}

/** Returns how many calls of this minute an account's batches may still use. They leave some to its other requests. */
function minuteCallsLeft(outcomes: readonly Outcome[]): { calls: number; resetAt: number } | null {
  let left: { calls: number; resetAt: number } | null = null;
  for (const outcome of outcomes) {
    if (!('rate' in outcome)) continue;
    const { rate } = outcome;
    const calls = rate
      ? rate.remaining - Math.floor(rate.limit * RESERVED_MINUTE_SHARE)
      : Number.POSITIVE_INFINITY;
    if (!left || calls < left.calls) left = { calls, resetAt: rate?.resetAt ?? 0 };
  }
  return left;
}

async function letOffPeakOnesWait(
  { database, clock, offPeak }: FeedDeps,
  pending: readonly PendingBatch[],
): Promise<PendingBatch[]> {
  const forOffPeak = pending.filter(({ window }) => window === 'off_peak');
  if (forOffPeak.length === 0) return [...pending];
  const { isOpen, opensAt } = await offPeakOpening(database, offPeak, clock.now());
  if (isOpen) return [...pending];
  await pauseFeeding(
    database,
    forOffPeak.map(({ batchId }) => batchId),
    'OFF_PEAK_WINDOW',
    opensAt,
  );
  return pending.filter(({ window }) => window !== 'off_peak');
}

async function letReservedOnesWait(
  { database }: FeedDeps,
  pending: readonly PendingBatch[],
): Promise<PendingBatch[]> {
  const ends = new Set(pending.map(({ minuteReservedUntil }) => minuteReservedUntil));
  for (const until of ends) {
    if (until === null) continue;
    const reserved = pending.filter(({ minuteReservedUntil }) => minuteReservedUntil === until);
    await pauseFeeding(
      database,
      reserved.map(({ batchId }) => batchId),
      'MINUTE_RESERVED',
      until,
    );
  }
  return pending.filter(({ minuteReservedUntil }) => minuteReservedUntil === null);
}

/** Returns how many more calls of batches each pool accepts. */
async function roomByPool(
  { redis, keys, clock }: FeedDeps,
  fed: ReadonlyMap<PoolName, number>,
): Promise<Map<PoolName, number>> {
  const room = new Map<PoolName, number>();
  await Promise.all(
    POOL_NAMES.map(async (pool) => {
      const capacity = (await countAlive(redis, keys, pool, clock.now())) * POOLS[pool].concurrency;
      const share = capacity === 0 ? 0 : Math.max(1, Math.floor(capacity * SHARE));
      room.set(pool, Math.max(0, share - (fed.get(pool) ?? 0)));
    }),
  );
  return room;
}

/** A call that was admitted and released, because its batch has ended. */
class Withdrawn extends Error {}

/**
 * Submits a call of a batch.
 * @param ended why the batch makes no more calls; null: it runs. The admission then only determines that no earlier attempt is
 * admitted later, and the call is released immediately.
 */
export async function feedCall(
  deps: FeedDeps,
  batch: PendingBatch,
  call: FedCall,
  ended: ErrorRecord | null = null,
): Promise<Outcome> {
  const { database, log } = deps;
  const operation = queuedOperation(batch.operation);
  if (!operation) throw new Error(`no operation ${batch.operation}`);
  const { batchId, accountId, keyHash, deadlineAt } = batch;
  try {
    const submission = await submit(deps, {
      operation,
      input: call.input,
      caller: { accountId, batchKeyHash: keyHash },
      maxUnits: null,
      waiting: { batchUntil: deadlineAt, callId: call.callId },
      onAdmitted: ended ? (admission) => withdraw(deps, operation, admission, ended) : undefined,
    });
    if (batch.isWaiting) await endWaiting(database, batchId);
    batch.isWaiting = false;
    return await goOn(deps, call, submission);
  } catch (error) {
    if (error instanceof Withdrawn) return { kind: 'ended' };
    if (error instanceof SoukError) return notNow(deps, batch, call, error);
    // Whether it was admitted is determined later.
    if (!isStoreDown(error)) log.error({ err: error, batchId }, 'failed to feed a call');
    return { kind: 'unknown' };
  }
}

/** @throws Withdrawn unless the call has joined another one. */
async function withdraw(
  deps: FeedDeps,
  { name: operation }: QueuedOperation,
  { kind, accountId, callId }: Admission,
  error: ErrorRecord,
): Promise<void> {
  if (kind === 'joined') return;
  await release(deps, { accountId, callId, operation }, { error });
  throw new Withdrawn();
}

async function goOn(deps: FeedDeps, call: FedCall, submission: Submission): Promise<Outcome> {
  const { database } = deps;
  switch (submission.kind) {
    case 'cached':
      return { kind: 'ended', rate: submission.rate };
    case 'joined':
      // A repeated admission finds the batch's own call, which has ended.
      if (submission.callId !== call.callId) await markJoined(database, call, submission.callId);
      if (submission.finished) return { kind: 'ended' };
      deps.onFed(submission.callId);
      await deps.onJoined(submission.callId);
      return { kind: 'joined' };
    case 'started':
      deps.onFed(submission.callId);
      await submission.enqueue();
      return { kind: 'under way', rate: submission.rate };
  }
}

/** How long a batch waits if the end of the obstacle is unknown: no subscription, or a disabled account. */
const UNKNOWN_WAIT_MS = 600_000;

/** Handles a call that the account cannot pay for now. The call does not fail: it waits, or is split. */
async function notNow(
  deps: FeedDeps,
  batch: PendingBatch,
  call: FedCall,
  error: SoukError,
): Promise<Outcome> {
  const { database, clock, log } = deps;
  const { remaining, resetAt } = (error.metadata ?? {}) as { remaining?: number; resetAt?: string | null };
  const mayBeSplit = error.kind === 'QUOTA_INSUFFICIENT_UNITS' || error.kind === 'KEY_CAP_REACHED';
  if (mayBeSplit && (await split(deps, batch, call, remaining ?? 0))) return { kind: 'again' };
  if (ERRORS[error.kind].status === 400) return refusedForGood(deps, call, error);
  if (['KEY_FORBIDDEN', 'KEY_CAP_REACHED'].includes(error.kind) || error.kind.startsWith('QUOTA_')) {
    await returnToFeed(database, call);
    const reason = error.kind === 'KEY_FORBIDDEN' ? 'ACCOUNT_UNAVAILABLE' : error.kind;
    const until = resetAt ? Date.parse(resetAt) : clock.now() + UNKNOWN_WAIT_MS;
    await pauseFeeding(database, [batch.batchId], reason, until);
  } else {
    log.warn({ err: error, batchId: batch.batchId }, 'a call of a batch was refused');
    // An attempt before this one may still be committed. Whether the call was admitted is determined when it is collected.
    const until = clock.now() + QUEUE_AWAY_MS;
    await postponeCollection(database, call, until);
    await pauseFeeding(database, [batch.batchId], error.kind, until);
  }
  return { kind: 'refused' };
}

/** Fails items that were valid when the batch was created but are not any more, for example because a report was removed. */
async function refusedForGood(deps: FeedDeps, call: FedCall, error: SoukError): Promise<Outcome> {
  const { clock, onFinished } = deps;
  await changeOne(deps, call.batchId, async (client) => {
    if (!(await lockCall(client, call))) return;
    const ending = { state: 'failed', error: toRecord(error) } as const;
    await endCall(client, call, ending, clock.now(), onFinished);
  });
  return { kind: 'again' };
}

/** Splits a call that costs more units than the account has left, so that the remaining units can be used. */
async function split(
  { database }: FeedDeps,
  { operation: name, accountId }: PendingBatch,
  call: FedCall,
  maxUnits: number,
): Promise<boolean> {
  const operation = queuedOperation(name);
  if (!operation || call.items.length < 2) return false;
  const items: Item[] = call.items.map((raw) => ({ raw, input: operation.params.parse(raw) }));
  const { batchId, firstItem, callId } = call;
  const [first] = bundleItems(operation, items, { firstItem, maxUnits });
  if (!first || first.units > maxUnits || first.items.length === items.length) return false;
  const rest = [
    ...bundleItems(operation, items.slice(first.items.length), { firstItem: firstItem + first.items.length }),
  ];
  await inTransaction(database, async (client) => {
    const { rowCount } = await client.query(
      `update batch_calls set state = 'pending', call_id = null, attempts = attempts - 1, item_count = $4,
         units = $5, items = $6, input = $7
       where batch_id = $1 and first_item = $2 and state = 'fed' and call_id = $3`,
      [
        batchId,
        firstItem,
        callId,
        first.items.length,
        first.units,
        stringifyJson(first.items),
        stringifyJson(first.input),
      ],
    );
    if (rowCount === 1) await insertCalls(client, { batchId, accountId }, rest);
  });
  return true;
}
