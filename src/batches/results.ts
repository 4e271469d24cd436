import { createHash } from 'node:crypto';
import type { ClientBase } from 'pg';
import type { QueuedOperation } from '../operations/define.ts';
import type { Database, Queryable } from '../platform/db/pool.ts';
import { unixMs } from '../platform/db/rows.ts';
import { ERRORS, type ErrorRecord } from '../platform/errors.ts';
import { fingerprint } from '../platform/fingerprint.ts';
import { parseJson, stringifyJson } from '../platform/json.ts';

export const RESULT_ORDERS = ['item', 'finished'] as const;

type ResultOrder = (typeof RESULT_ORDERS)[number];

/** The results of one call of a batch. */
export interface CallResults {
  firstItem: number;
  itemCount: number;
  /** The items of a call that has no result lines. */
  items: readonly unknown[];
  /** gzip; null if the call failed or was cancelled. */
  lines: Buffer | null;
  /** The canonical input of the call, as JSON. */
  input: string;
  error: ErrorRecord | null;
  /** Unix milliseconds. */
  endedAt: number;
}

/**
 * Yields the calls of a batch that have ended: in the order of items, up to the first call that has not ended, or
 * in the order in which they ended.
 * @param afterItem starts with the call that has the item after this one (in the order of ends: the call after the
 * one that has this item).
 */
export async function* resultsOf(
  database: Database,
  batchId: string,
  order: ResultOrder,
  afterItem: number | null,
): AsyncGenerator<CallResults> {
  let place = await startOf(database, batchId, order, afterItem);
  for (;;) {
    const row = await nextResult(database, batchId, order, place);
    if (!row || row.endNo === null) return;
    const { endNo, ...results } = row;
    yield { ...results, items: row.items === null ? [] : (parseJson(row.items) as unknown[]) };
    place = order === 'item' ? row.firstItem : endNo;
  }
}

/** Returns the canonical input of the first call, as JSON. It determines the form of all results. */
export async function sampleInput(database: Queryable, batchId: string): Promise<string> {
  const { rows } = await database.query<{ input: string }>(
    'select input from batch_calls where batch_id = $1 order by first_item limit 1',
    [batchId],
  );
  return rows[0]?.input ?? '{}';
}

type ResultRow = Omit<CallResults, 'items'> & { items: string | null; endNo: number | null };

const COLUMNS = `first_item as "firstItem", item_count as "itemCount", end_no as "endNo",
  case when lines is null then items end as items, lines, input, error,
  ${unixMs('ended_at')} as "endedAt"`;

/** Returns the position before the first call to read. */
async function startOf(database: Database, batchId: string, order: ResultOrder, afterItem: number | null) {
  if (afterItem === null) return -1;
  const { rows } = await database.query<{ firstItem: number; endNo: number | null }>(
    `select first_item as "firstItem", end_no as "endNo" from batch_calls where batch_id = $1 and first_item <= $2
     order by first_item desc limit 1`,
    [batchId, afterItem],
  );
  const [row] = rows;
  if (!row) return -1;
  return order === 'item' ? row.firstItem - 1 : (row.endNo ?? 0) - 1;
}

async function nextResult(
  database: Database,
  batchId: string,
  order: ResultOrder,
  place: number,
): Promise<ResultRow | undefined> {
  const text =
    order === 'item'
      ? `select ${COLUMNS} from batch_calls where batch_id = $1 and first_item > $2 order by first_item limit 1`
      : `select ${COLUMNS} from batch_calls where batch_id = $1 and end_no > $2 order by end_no limit 1`;
  const { rows } = await database.query<ResultRow>({
    name: `batch-result-${order}`,
    text,
    values: [batchId, place],
  });
  return rows[0];
}

/** The answer to a call of a batch, before it is split into the results of its items. */
export interface CallAnswer {
  data: Record<string, unknown>;
  metadata?: Record<string, unknown>;
}

export interface ItemResult {
  index: number;
  raw: unknown;
  data: Record<string, unknown>;
  metadata: Record<string, unknown> | undefined;
}

/** Splits the answer to a call: each item gets the answer it would have got by itself. */
export function itemResults(
  operation: QueuedOperation,
  call: { firstItem: number; items: readonly unknown[] },
  { data, metadata }: CallAnswer,
): ItemResult[] {
  const { bundle } = operation;
  return call.items.map((raw, i) => ({
    index: call.firstItem + i,
    raw,
    data: bundle && call.items.length > 1 ? bundle.pick(data, operation.params.parse(raw)) : data,
    metadata,
  }));
}

/** Returns NDJSON with one line for each item, in the form of its envelope. */
export function resultLines(results: readonly ItemResult[]): string {
  return results
    .map(({ index, raw, data, metadata }) => {
      const line = { index, params: raw, code: '0000', data };
      return `${stringifyJson(metadata ? { ...line, metadata } : line)}\n`;
    })
    .join('');
}

/** Returns NDJSON with one line for each item of a call that failed. */
export function failureLines(
  call: { firstItem: number; items: readonly unknown[] },
  { kind, message, metadata }: ErrorRecord,
): string {
  return call.items
    .map((raw, i) => {
      const line = { index: call.firstItem + i, params: raw, code: ERRORS[kind].code, msg: message };
      return `${stringifyJson(metadata ? { ...line, metadata } : line)}\n`;
    })
    .join('');
}

/** Fields that change even if the content does not. */
export const VOLATILE_FIELDS: ReadonlySet<string> = new Set([
  'fromCache',
  'lastUpdate',
  'updatedAt',
  'figures',
]);

/** Identifies an item by its parameters. */
export function itemHash(raw: unknown): Buffer {
  return createHash('sha256').update(fingerprint(raw)).digest();
}

/** Identifies the content of an item's result, without the fields that say how fresh it is. */
export function contentHash(data: Record<string, unknown>): Buffer {
  return createHash('sha256')
    .update(fingerprint(withoutVolatile(data)))
    .digest();
}

function withoutVolatile(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutVolatile);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).flatMap(([name, inner]) =>
      VOLATILE_FIELDS.has(name) ? [] : [[name, withoutVolatile(inner)]],
    ),
  );
}

/**
 * Returns the results of a run whose content differs from that of the previous run, and stores their content hashes
 * for the next run.
 */
export async function storeChanged(
  client: ClientBase,
  scheduleId: string,
  results: readonly ItemResult[],
): Promise<ItemResult[]> {
  const { rowCount } = await client.query('select 1 from schedules where id = $1 for key share', [
    scheduleId,
  ]);
  // The schedule was deleted during this run, so there is no previous run and no next one.
  if (rowCount === 0) return [...results];
  const hashes = results.map(({ raw, data }) => ({ item: itemHash(raw), content: contentHash(data) }));
  const { rows } = await client.query<{ hash: Buffer }>(
    `insert into schedule_contents as s (schedule_id, item_hash, content_hash)
     select distinct on (i.item) $1, i.item, i.content from unnest($2::bytea[], $3::bytea[]) as i (item, content)
     on conflict (schedule_id, item_hash) do update set content_hash = excluded.content_hash
       where s.content_hash <> excluded.content_hash
     returning item_hash as hash`,
    [scheduleId, hashes.map(({ item }) => item), hashes.map(({ content }) => content)],
  );
  const changed = new Set(rows.map(({ hash }) => hash.toString('hex')));
  return results.filter((_, i) => changed.has(hashes[i]?.item.toString('hex') ?? ''));
}

/** Deletes the stored contents of a schedule, so that its next run returns all results. */
export async function deleteContents(client: ClientBase, scheduleId: string): Promise<void> {
  await client.query('delete from schedule_contents where schedule_id = $1', [scheduleId]);
}

/** Deletes the stored contents of items that the schedule no longer has. @param kept hashes of its present items. */
export async function deleteContentsOfOtherItems(
  client: ClientBase,
  scheduleId: string,
  kept: readonly Buffer[],
): Promise<void> {
  await client.query(
    `delete from schedule_contents s where schedule_id = $1
       and not exists (select 1 from unnest($2::bytea[]) as k (item_hash) where k.item_hash = s.item_hash)`,
    [scheduleId, kept],
  );
}
