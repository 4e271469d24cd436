import { insertCalls } from '../../src/batches/create.ts';
import { endCall, lockCall, postponeCollection } from '../../src/batches/ending.ts';
import { type FedCall, type PendingBatch, pauseFeeding, returnToFeed } from '../../src/batches/feeding.ts';
import { type Item, packItems } from '../../src/batches/pack.ts';
import { queuedOperation } from '../../src/operations/index.ts';
import { inTransaction } from '../../src/platform/db/transaction.ts';
import { toRecord } from '../../src/platform/error-record.ts';
import { ERRORS, type SoukError } from '../../src/platform/errors.ts';
import { stringifyJson } from '../../src/platform/json.ts';
import { type FeedDeps, type Outcome, QUEUE_AWAY_MS } from './feed-deps.ts';

/** How long a batch waits if the end of the obstacle is unknown: no subscription, or a disabled account. */
const UNKNOWN_WAIT_MS = 600_000;

/** Handles a call that the account cannot pay for now. The call does not fail: it waits, or is split. */
export async function notNow(
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

/**
 * Fails items that were valid when the batch was created but are not any more, for example because a report was
 * removed.
 */
async function refusedForGood(
  { database, clock, onFinished }: FeedDeps,
  call: FedCall,
  error: SoukError,
): Promise<Outcome> {
  await inTransaction(database, async (client) => {
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
  const [first] = packItems(operation, items, { firstItem, maxUnits });
  if (!first || first.units > maxUnits || first.items.length === items.length) return false;
  const rest = [
    ...packItems(operation, items.slice(first.items.length), { firstItem: firstItem + first.items.length }),
  ];
  await inTransaction(database, async (client) => {
    const { rowCount } = await client.query(
      `update batch_calls set state = 'pending', call_id = null, attempts = attempts - 1, item_count = $4,
         units = $5, items = $6, input = $7
       where batch_id = $1 and first_item = $2 and state = 'fed' and call_id = $3`,
      [
        ...[batchId, firstItem, callId, first.items.length, first.units],
        ...[stringifyJson(first.items), stringifyJson(first.input)],
      ],
    );
    if (rowCount === 1) await insertCalls(client, { batchId, accountId }, rest);
  });
  return true;
}
