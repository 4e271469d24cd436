import type { ClientBase } from 'pg';
import type { QueuedOperation } from '../operations/define.ts';
import type { ErrorKind } from '../platform/errors.ts';
import { stringifyJson } from '../platform/json.ts';
import type { FedCall } from './feeding.ts';
import type { ItemResult } from './lines.ts';
import { type PackedCall, packItems } from './pack.ts';

/** Neighbouring items of a call with one outcome. */
export interface Run {
  results: ItemResult[];
  /** The error of items whose data could not be fetched; null for items with a result. */
  failure: ErrorKind | null;
}

/** Divides the results of a call with a partial answer into runs. A call whose items all have a result is one run. */
export function runsOf({ partial }: QueuedOperation, results: readonly ItemResult[]): Run[] {
  const runs: Run[] = [];
  for (const result of results) {
    const failure = partial?.failureOf(result.data) ?? null;
    const last = runs.at(-1);
    if (last?.failure === failure) last.results.push(result);
    else runs.push({ results: [result], failure });
  }
  return runs;
}

/**
 * Divides a locked call that has ended into one call for each run, in the caller's transaction. The parts are in the state of
 * the call, so that they are ended or returned one by one.
 */
export async function splitCall<Call extends FedCall>(
  client: ClientBase,
  operation: QueuedOperation,
  call: Call,
  runs: readonly Run[],
): Promise<Call[]> {
  if (runs.length === 1) return [call];
  const parts = runs.flatMap((run) => packed(operation, run));
  await client.query(
    `with call as (
       delete from batch_calls where batch_id = $1 and first_item = $2
       returning batch_id, pool, state, call_id, joined, fed_at, attempts
     )
     insert into batch_calls (batch_id, pool, state, call_id, joined, fed_at, attempts, first_item, item_count, units, items, input)
     select call.*, part.* from call,
       unnest($3::integer[], $4::integer[], $5::integer[], $6::text[], $7::text[]) as part`,
    [
      ...[call.batchId, call.firstItem],
      parts.map(({ firstItem }) => firstItem),
      parts.map(({ items }) => items.length),
      parts.map(({ units }) => units),
      parts.map(({ items }) => stringifyJson(items)),
      parts.map(({ input }) => stringifyJson(input)),
    ],
  );
  return parts.map(({ firstItem, items, input, units }) => ({ ...call, firstItem, items, input, units }));
}

/** Items of one call, and so the items of a run, fit into one call. */
function packed(operation: QueuedOperation, { results }: Run): PackedCall[] {
  const items = results.map(({ raw }) => ({ raw, input: operation.params.parse(raw) }));
  return [...packItems(operation, items, { firstItem: results[0]?.index ?? 0 })];
}
