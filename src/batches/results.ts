import type { Database } from '../platform/db/pool.ts';
import type { ErrorRecord } from '../platform/error-record.ts';
import { parseJson } from '../platform/json.ts';

export const RESULT_ORDERS = ['item', 'finished'] as const;

export type ResultOrder = (typeof RESULT_ORDERS)[number];

/** The results of one call of a batch. */
export interface CallResults {
  firstItem: number;
  itemCount: number;
  /** The items of a call that has no result lines. */
  items: readonly unknown[];
  /** gzip; null if the call failed or was cancelled. */
  lines: Buffer | null;
  tableRows: Buffer | null;
  error: ErrorRecord | null;
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

/** Returns the canonical input of the first call. It determines the form of all results. */
export async function sampleInput(database: Database, batchId: string): Promise<unknown> {
  const { rows } = await database.query<{ input: string }>(
    'select input from batch_calls where batch_id = $1 order by first_item limit 1',
    [batchId],
  );
  return rows[0] ? parseJson(rows[0].input) : null;
}

type ResultRow = Omit<CallResults, 'items'> & { items: string | null; endNo: number | null };

const COLUMNS = `first_item as "firstItem", item_count as "itemCount", end_no as "endNo",
  case when lines is null then items end as items, lines, table_rows as "tableRows", error`;

/** Returns the position before the first call to read. */
async function startOf(
  database: Database,
  batchId: string,
  order: ResultOrder,
  afterItem: number | null,
): Promise<number> {
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
