import { v7 as uuid } from 'uuid';
import { hashKey } from '../../src/accounts/authentication.ts';
import { type Admissions, type Caller, createAdmissions } from '../../src/billing/admission.ts';
import type { Database } from '../../src/platform/db/pool.ts';
import { fingerprint } from '../../src/platform/fingerprint.ts';
import { BARE_ACCOUNTS, createBareAccounts, updateBareAccount } from '../bare-account.ts';
import { timed } from '../load.ts';
import { alternate, type Side, throughputRow } from '../rounds.ts';
import type { Row } from '../row.ts';
import type { Services } from '../services.ts';

/** Concurrent calls, on either side. */
const CONCURRENCY = 200;
const ACCOUNTS = BARE_ACCOUNTS;

/** Compares admissions of charged calls, as in a gateway process, with one plain row update for each. */
export async function admissionRows(services: Services): Promise<Row[]> {
  const { database } = services;
  const callers = await callersOf(database, await services.keys(ACCOUNTS));
  await createBareAccounts(database);
  const admissions = createAdmissions(database, Date.now, {
    start: '19:00',
    end: '07:00',
    timezone: 'Asia/Shanghai',
  });
  const rows: Row[] = [];
  for (const [what, accounts] of [
    [`${ACCOUNTS} accounts`, ACCOUNTS],
    ['one hot account', 1],
  ] as const) {
    let i = 0;
    const side = (task: (i: number) => Promise<boolean>): Side => ({
      processes: ['PostgreSQL'],
      send: (seconds) =>
        timed(CONCURRENCY, seconds, async () => {
          i += 1;
          return { bytes: 0, isExpected: await task(i) };
        }),
    });
    const { sides, busy } = await alternate(services, {
      ours: side((i) => admitOne(admissions, callers[i % accounts] as Caller, i, accounts)),
      baseline: side((i) => updateBareAccount(database, (i % accounts) + 1)),
    });
    const row = {
      what: `admission of a charged call (${what}) / bare single-row update, ${CONCURRENCY} at a time`,
      aim: 'at least 0.5',
    };
    rows.push(throughputRow(row, { ...sides, busy }));
  }
  return rows;
}

async function callersOf(database: Database, keys: readonly string[]): Promise<Caller[]> {
  const { rows } = await database.query<{ accountId: number; keyHash: Buffer }>(
    'select account_id as "accountId", hash as "keyHash" from api_keys where hash = any($1)',
    [keys.map(hashKey)],
  );
  return rows;
}

/** Admits a unique call, which is charged immediately as a cache hit. */
async function admitOne(
  admissions: Admissions,
  caller: Caller,
  i: number,
  accounts: number,
): Promise<boolean> {
  const { kind } = await admissions.admit({
    caller,
    callId: uuid(),
    operation: 'market.product',
    chargeId: fingerprint('bench', accounts, i),
    units: 1,
    pool: 'market',
    deadlineAt: Date.now() + 90_000,
    input: null,
    answer: 'bench:answer',
    background: false,
  });
  return kind === 'cached';
}
