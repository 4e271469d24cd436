import pLimit from 'p-limit';
import type { Database } from '../../../src/platform/db/pool.ts';
import { createClient } from '../client.ts';
import type { SoakAccount } from './accounts.ts';
import type { Fault } from './ledger-audit.ts';

interface Ended {
  id: string;
  accountId: number;
  lines: number;
  items: number;
}

/** The most batches that are read, the newest first. Reading more would only take longer. */
const MOST = 400;

/** Reads the results of batches, as their customers would: each item is exactly one line, in order. */
export async function auditResults(
  database: Database,
  gateways: readonly string[],
  accounts: readonly SoakAccount[],
): Promise<Fault[]> {
  const { rows } = await database.query<Ended>(
    `select id, account_id as "accountId", item_count as items, item_count - unchanged_items as lines from batches
     where finished_at is not null order by id desc limit $1`,
    [MOST],
  );
  const keys = new Map(accounts.map(({ accountId, key }) => [accountId, key]));
  const limit = pLimit(4);
  const faults = await Promise.all(
    rows.map((batch, i) =>
      limit(async (): Promise<Fault[]> => {
        const client = createClient(gateways[i % gateways.length] ?? '', keys.get(batch.accountId) ?? '');
        const reply = await client.get(`/api/batches/${batch.id}/results`);
        const indices = reply.text
          .split('\n')
          .filter((line) => line !== '')
          .map((line) => (JSON.parse(line) as { index: number }).index);
        const isInOrder = indices.every((index, nth) => nth === 0 || index > (indices[nth - 1] ?? 0));
        if (reply.status === 200 && isInOrder && indices.length === batch.lines) return [];
        const row = { ...batch, status: reply.status, received: indices.length, isInOrder };
        return [{ promise: 'every item of a batch has one line', row }];
      }),
    ),
  );
  return faults.flat();
}
