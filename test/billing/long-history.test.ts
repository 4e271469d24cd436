import { afterAll, beforeAll, expect, test } from 'vitest';
import { listCalls, MOST_CALLS_READ } from '../../src/billing/calls.ts';
import { ledgerLines } from '../../src/billing/ledger-lines.ts';
import { errorGroups } from '../../src/billing/statement.ts';
import { failedCalls, failedCallsOf } from '../../src/operator/failure-search.ts';
import { eraseDueAccounts } from '../../src/operator/personal-data/erasure.ts';
import type { Database } from '../../src/platform/db/pool.ts';
import { DAY_MS } from '../../src/platform/durations.ts';
import { type BilledAccount, type Billing, openBilling } from '../support/billing.ts';

const CALLS = 30_000;

let billing: Billing;
let account: BilledAccount;

beforeAll(async () => {
  billing = await openBilling();
  account = await billing.account({ subscriptions: [{}] });
  await fill(account.accountId);
});
afterAll(() => billing.close());

/** Gives an account calls that have ended two to five days ago, with their lines. Every twentieth failed. */
async function fill(accountId: number): Promise<void> {
  await billing.database.query(
    `insert into finished_calls (account_id, id, operation, claim_key, state, pool, units_reserved, units_charged, accepted_at,
       deadline_at, finished_at, attempts, error, background)
     select $1, (left(souk_first_id(at)::text, 24) || lpad(n::text, 12, '0'))::uuid, 'market.product', '\\x00',
       (case when failed then 'released' else 'settled' end)::call_state, 'market', 1, 0, at, at, at, 1,
       case when failed then jsonb_build_object('kind', 'NOT_FOUND', 'metadata', jsonb_build_object('errorId', 'error ' || n)) end, false
     from generate_series(1, $2::integer) as n
     cross join lateral (select now() - interval '5 days' + n * interval '3 days' / $2 as at, n % 20 = 0 as failed) as c`,
    [accountId, CALLS],
  );
  await billing.database.query(
    `insert into ledger (account_id, at, kind, source, source_id, call_id, units)
     select $1, finished_at, 'charge', 'subscription', (select id from subscriptions where account_id = $1), id, 1
     from finished_calls as c where account_id = $1 order by c.id`,
    [accountId],
  );
  await billing.database.query('analyze finished_calls, ledger');
}

interface Plan {
  'Shared Hit Blocks': number;
  'Shared Read Blocks': number;
}

/** A database that explains each statement, in a transaction that is rolled back, before it runs it. */
function explaining(plans: Plan[]): Database {
  const query = async (statement: string | { text: string; values: unknown[] }, given?: unknown[]) => {
    const { text, values } = typeof statement === 'string' ? { text: statement, values: given } : statement;
    const client = await billing.database.connect();
    try {
      await client.query('begin');
      const { rows } = await client.query(`explain (analyze, buffers, format json) ${text}`, values);
      plans.push(rows[0]['QUERY PLAN'][0].Plan);
    } finally {
      await client.query('rollback');
      client.release();
    }
    return billing.database.query(text, values);
  };
  return Object.assign(Object.create(billing.database), { query });
}

/** The blocks that PostgreSQL reads, or finds in its memory, for some statements. */
async function blocksOf(run: (database: Database) => Promise<unknown>): Promise<number> {
  const plans: Plan[] = [];
  await run(explaining(plans));
  return plans.reduce((sum, plan) => sum + plan['Shared Hit Blocks'] + plan['Shared Read Blocks'], 0);
}

test.for<[string, number, (database: Database) => Promise<unknown[]>]>([
  [
    'lines of a seldom kind',
    0,
    (db) => ledgerLines(db, account.accountId, { limit: 50, filter: { kind: 'grant' } }),
  ],
  [
    'lines of a wallet without sources',
    0,
    (db) => ledgerLines(db, account.accountId, { limit: 50, filter: { wallet: 'off_peak' } }),
  ],
  [
    'lines of a wallet with a source',
    5,
    (db) => ledgerLines(db, account.accountId, { limit: 5, filter: { wallet: 'general' } }),
  ],
  ['the newest lines', 5, (db) => ledgerLines(db, account.accountId, { limit: 5 })],
  ['the calls of an error', 1, (db) => failedCallsOf(db, 'error 120', 50)],
  ['the errors of the last day', 0, (db) => errorGroups(db, account.accountId, Date.now() - DAY_MS)],
  [
    'the failures of the last day',
    0,
    (db) => failedCalls(db, { kinds: ['INTERNAL'], since: Date.now() - DAY_MS, limit: 8 }),
  ],
])('of an account with many calls, %s are found without reading the others', async ([, found, read]) => {
  expect(await read(billing.database)).toHaveLength(found);
  expect(await blocksOf(read)).toBeLessThan(100);
});

test.for<[string | null, number]>([
  ['market.seller', 0],
  [null, CALLS],
])(
  'a list of calls of operation %s reads a limited number of calls once for a page, and its pages have %d',
  async ([operation, all]) => {
    const limit = 25_000;
    const filter = {
      states: ['settled', 'released'],
      cancelled: null,
      operation,
      contains: null,
      keyId: null,
      acceptedFrom: Date.now() - 6 * DAY_MS,
      acceptedTo: null,
    } as const;
    const page = (before: string | null) =>
      listCalls(billing.database, account.accountId, { ...filter, before, limit });
    const [first, second] = [await page(null), await page((await page(null)).next)];
    expect(first.next).not.toBeNull();
    expect(first.calls).toHaveLength(Math.min(all, MOST_CALLS_READ));
    expect(second.next).toBeNull();
    expect(new Set([...first.calls, ...second.calls].map(({ callId }) => callId)).size).toBe(all);
    const plans: Plan[] = [];
    await listCalls(explaining(plans), account.accountId, { ...filter, before: null, limit });
    expect(plans).toHaveLength(1);
  },
);

test('the change of a line is looked up in the month of the line only', async () => {
  const plans: Plan[] = [];
  await ledgerLines(explaining(plans), account.accountId, { limit: 50 });
  const scans = [
    ...JSON.stringify(plans).matchAll(/"Relation Name":"(ledger_\w+)"[^{}]*"Actual Loops":(\d+)/g),
  ];
  const months = new Set(scans.map(([, name]) => name)).size;
  const loops = scans.reduce((sum, [, , n]) => sum + Number(n), 0);
  expect(loops).toBeLessThanOrEqual(50 + months);
});

test('erasing an account with many calls reads each call in one statement only', async () => {
  const erased = await billing.account({ subscriptions: [{}] });
  await fill(erased.accountId);
  await billing.database.query('update accounts set erase_at = now() where id = $1', [erased.accountId]);
  const plans: Plan[] = [];
  expect(await eraseDueAccounts(explaining(plans), Date.now() + 1, () => expect.unreachable())).toHaveLength(
    1,
  );
  const passedOver = [...JSON.stringify(plans).matchAll(/"Rows Removed by Filter":(\d+)/g)].map(([, n]) =>
    Number(n),
  );
  expect(passedOver.reduce((sum, n) => sum + n, 0)).toBeLessThan(CALLS);
  const { rows } = await billing.database.query(
    'select count(*) as left from finished_calls where account_id = $1 and error is not null',
    [erased.accountId],
  );
  expect(rows).toEqual([{ left: 0 }]);
});
