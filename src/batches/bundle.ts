import type { ClientBase } from 'pg';
import type { Bundle, QueuedOperation } from '../operations/define.ts';
import type { PoolName } from '../operations/pools.ts';
import type { ErrorKind } from '../platform/errors.ts';
import { fingerprint } from '../platform/fingerprint.ts';
import { stringifyJson } from '../platform/json.ts';
import type { FedCall } from './batch-calls.ts';
import type { Pause } from './pauses.ts';
import type { ItemResult } from './results.ts';

/** A valid item of a batch. */
export interface Item {
  /** The parameters as sent. */
  raw: unknown;
  /** The canonical input. */
  input: unknown;
}

/** A call of a batch, for one item or for several consecutive ones. */
export interface BundledCall {
  firstItem: number;
  items: readonly unknown[];
  input: unknown;
  units: number;
  pool: PoolName;
}

/**
 * Combines items into as few calls as possible: neighbours share a call if they differ only in the list of ids that
 * their operation accepts.
 * @param maxUnits the highest price of a call; a call for a single item may cost more.
 */
export function* bundleItems(
  operation: QueuedOperation,
  items: Iterable<Item>,
  { firstItem = 0, maxUnits = Number.POSITIVE_INFINITY } = {},
): Generator<BundledCall> {
  let open: OpenCall | null = null;
  let index = firstItem;
  for (const item of items) {
    const grown: OpenCall | null = open && grow(operation, open, item, maxUnits);
    if (open && !grown) yield close(operation, open);
    open = grown ?? begin(operation, item, index);
    index += 1;
  }
  if (open) yield close(operation, open);
}

/** Combines all items of a request. */
export async function bundleAll(
  operation: QueuedOperation,
  items: readonly Item[],
  pause: Pause,
): Promise<{ calls: BundledCall[]; units: number }> {
  const calls: BundledCall[] = [];
  let units = 0;
  for (const call of bundleItems(operation, items)) {
    calls.push(call);
    units += call.units;
    await pause();
  }
  return { calls, units };
}

interface OpenCall {
  firstItem: number;
  raws: unknown[];
  input: Record<string, unknown>;
  /** The part of the input that all items of the call share; null if the operation cannot bundle items. */
  shared: string | null;
  ids: Set<string>;
}

function begin({ bundle }: QueuedOperation, { raw, input }: Item, firstItem: number): OpenCall {
  const record = input as Record<string, unknown>;
  return {
    firstItem,
    raws: [raw],
    input: record,
    shared: bundle ? sharedPart(bundle, record) : null,
    ids: new Set(bundle ? idsOf(bundle, record) : []),
  };
}

function grow(
  operation: QueuedOperation,
  open: OpenCall,
  { raw, input }: Item,
  maxUnits: number,
): OpenCall | null {
  const { bundle } = operation;
  const record = input as Record<string, unknown>;
  if (!bundle || open.shared !== sharedPart(bundle, record)) return null;
  const added = idsOf(bundle, record).filter((id) => !open.ids.has(id));
  const most = bundle.max(record);
  // Repeated ids count too: the answer to a call is split in memory.
  if (open.ids.size + added.length > most || open.raws.length >= most) return null;
  if (maxUnits !== Number.POSITIVE_INFINITY) {
    const input = { ...record, [fieldOf(bundle, record)]: [...open.ids, ...added] };
    if (operation.price.quote(input) > maxUnits) return null;
  }
  for (const id of added) open.ids.add(id);
  open.raws.push(raw);
  return open;
}

function close(operation: QueuedOperation, { firstItem, raws, input, ids }: OpenCall): BundledCall {
  const { bundle } = operation;
  // Parsed again, so that the bundled input is as canonical as the input of a request.
  const whole =
    bundle && raws.length > 1
      ? operation.params.parse({ ...input, [fieldOf(bundle, input)]: [...ids] })
      : input;
  return {
    firstItem,
    items: raws,
    input: whole,
    units: operation.price.quote(whole),
    pool: operation.queue(whole),
  };
}

function fieldOf({ fields }: Bundle<unknown>, input: Record<string, unknown>): string {
  return fields.find((field) => input[field] !== undefined) ?? fields[0];
}

function idsOf(bundle: Bundle<unknown>, input: Record<string, unknown>): readonly string[] {
  return input[fieldOf(bundle, input)] as string[];
}

function sharedPart(bundle: Bundle<unknown>, input: Record<string, unknown>): string {
  const field = fieldOf(bundle, input);
  const { [field]: _, ...shared } = input;
  return fingerprint({ field, shared });
}

/** Neighbouring items of a call with one outcome. */
interface Run {
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
  const parts = runs.flatMap((run) => bundled(operation, run));
  await client.query(
    `with call as (
       delete from batch_calls where batch_id = $1 and first_item = $2
       returning batch_id, pool, state, call_id, joined, fed_at, attempts
     )
     insert into batch_calls (batch_id, pool, state, call_id, joined, fed_at, attempts, first_item, item_count, units, items, input)
     select call.*, part.* from call,
       unnest($3::integer[], $4::integer[], $5::integer[], $6::text[], $7::text[]) as part`,
    [
      call.batchId,
      call.firstItem,
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
function bundled(operation: QueuedOperation, { results }: Run): BundledCall[] {
  const items = results.map(({ raw }) => ({ raw, input: operation.params.parse(raw) }));
  return [...bundleItems(operation, items, { firstItem: results[0]?.index ?? 0 })];
}
