import { v7 as uuid } from 'uuid';
import { hashKey } from '../../src/accounts/keys.ts';
import { type Admissions, createAdmissions } from '../../src/billing/admission.ts';
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
  const keyHashes = (await services.keys(ACCOUNTS)).map(hashKey);
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
      ours: side((i) => admitOne(admissions, keyHashes[i % accounts] as Buffer, i, accounts)),
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

/** Admits a unique call, which is charged at once as a cache hit. */
async function admitOne(
  admissions: Admissions,
  keyHash: Buffer,
  i: number,
  accounts: number,
): Promise<boolean> {
  const { kind } = await admissions.admit({
    caller: { keyHash },
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
