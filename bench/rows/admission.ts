import { v7 as uuid } from 'uuid';
import { hashKey } from '../../src/accounts/keys.ts';
import { type Admissions, createAdmissions } from '../../src/billing/admission.ts';
import type { Database } from '../../src/platform/db/pool.ts';
import { fingerprint } from '../../src/platform/fingerprint.ts';
import type { Row } from '../row.ts';
import type { Services } from '../services.ts';

/** Concurrent calls, on either side. */
const CONCURRENCY = 200;
const ACCOUNTS = 1000;
const WARM_UP_MS = 3_000;
const MEASURED_MS = 8_000;

/** Compares admissions of charged calls, as in a gateway process, with one plain row update for each. */
export async function admissionRows(services: Services): Promise<Row[]> {
  const { database } = services;
  const keyHashes = (await services.keys(ACCOUNTS)).map(hashKey);
  await database.query(
    'create table bare (id integer primary key, used bigint not null) with (fillfactor = 50)',
  );
  await database.query('insert into bare select id, 0 from generate_series(1, $1) as id', [ACCOUNTS]);

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
    const baseline = await measure((i) => updateBare(database, (i % accounts) + 1));
    const ours = await measure((i) => admitOne(admissions, keyHashes[i % accounts] as Buffer, i, accounts));
    rows.push({
      what: `admission of a charged call (${what}) / bare single-row update, ${CONCURRENCY} at a time`,
      ours: `${ours.perSecond.toFixed(0)}/s`,
      baseline: `${baseline.perSecond.toFixed(0)}/s`,
      ratio: ours.perSecond / baseline.perSecond,
      aim: 'at least 0.5',
      failures: ours.failures + baseline.failures,
    });
  }
  return rows;
}

async function updateBare(database: Database, id: number): Promise<boolean> {
  const { rowCount } = await database.query({
    name: 'bare-update',
    text: 'update bare set used = used + 1 where id = $1 returning used',
    values: [id],
  });
  return rowCount === 1;
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

/** Runs tasks at full concurrency for a while. @param task resolves to whether it succeeded. */
async function measure(
  task: (i: number) => Promise<boolean>,
): Promise<{ perSecond: number; failures: number }> {
  let next = 0;
  const run = async (durationMs: number) => {
    const startedAt = performance.now();
    let done = 0;
    let failures = 0;
    const one = async () => {
      while (performance.now() - startedAt < durationMs) {
        next += 1;
        if (!(await task(next))) failures += 1;
        done += 1;
      }
    };
    await Promise.all(Array.from({ length: CONCURRENCY }, one));
    return { perSecond: (done / (performance.now() - startedAt)) * 1000, failures };
  };
  await run(WARM_UP_MS);
  return run(MEASURED_MS);
}
