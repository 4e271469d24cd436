import { v7 as uuid } from 'uuid';
import { expect } from 'vitest';
import { createAdmissions, NOTE_SERVER } from '../../../src/billing/admission.ts';
import { noteServer, reopenAfterFailOver } from '../../../src/billing/admission-state.ts';
import { openDatabase } from '../../../src/platform/db/pool.ts';
import { createLogger } from '../../../src/platform/log.ts';
import { newAsin } from '../../support/answers.ts';
import { OFF_PEAK } from '../../support/billing.ts';
import type { Souk } from '../../support/souk.ts';
import { soukCommand } from '../../support/souk-command.ts';
import { test } from '../../support/souk-test.ts';

const path = () => `/api/market/product?domain=1&asins=${newAsin()}`;

const commandOf = ({ databaseUrl }: Souk) =>
  soukCommand({ DATABASE_URL: databaseUrl, SOUK_DATA_DIR: '/nonexistent/souk' });

async function stateOf({ database }: Souk) {
  const { rows } = await database.query(
    'select closed_at is null as open, reason, has_faults from admission_state',
  );
  return rows[0];
}

/** Moves the clock on, and reads something after the timers have run. */
const later =
  ({ clock }: Souk, ms: number, read: () => Promise<unknown>) =>
  () => {
    clock.advance(ms);
    return read();
  };

const OPEN = { open: true, reason: null, has_faults: false };

/** Everything that a call changes. */
async function booksOf({ database }: Souk, accountId: number) {
  const { rows } = await database.query(
    `select (select count(*) from ledger where account_id = $1) as lines, (select count(*) from calls where account_id = $1) as calls,
       (select sum(day_used) from subscriptions where account_id = $1) as used`,
    [accountId],
  );
  return rows[0];
}

test('a restored installation refuses calls at no charge, serves the rest, and admits calls when verify has passed', async ({
  souk,
  upstream: _,
}) => {
  const { accountId, key } = await souk.account();
  const client = souk.clientOf(key);
  expect((await client.get(path())).status).toBe(200);
  await souk.database.query("select souk_close_admission('restored')");

  const before = await booksOf(souk, accountId);
  for (const request of [path(), `${path()}&dryRun=1`]) {
    const refused = await client.get(request);
    if (request.endsWith('dryRun=1')) expect(refused.json.data).toMatchObject({ rejectReason: 'RECOVERING' });
    else
      expect([refused.status, refused.json.code, refused.headers['retry-after']]).toEqual([
        503,
        'RECOVERING',
        '30',
      ]);
  }
  expect(await booksOf(souk, accountId)).toEqual(before);
  for (const page of ['/sign-in', '/api/quota', '/readyz', '/docs'])
    expect((await client.get(page)).status).toBe(200);

  await commandOf(souk).text('verify');
  expect(await stateOf(souk)).toEqual(OPEN);
  expect((await client.get(path())).status).toBe(200);
  const { rows } = await souk.database.query(
    "select channel, after from audit_log where action = 'admission.opened'",
  );
  expect(rows).toEqual([{ channel: 'command', after: { verified: true } }]);
});

test('the status page names the minutes that may be missing, the note of the operator, and the end', async ({
  ownSouk: souk,
}) => {
  const { rows } = await souk.database.query<{ begun: Date }>(
    "update admission_state set backup_begun_at = date_trunc('second', now()) - interval '7 minutes' returning backup_begun_at as begun",
  );
  await souk.database.query("select souk_close_admission('restored')");
  const status = async () => {
    const client = await souk.client();
    const page = await client.get('/status.json');
    return page.json as unknown as {
      status: string;
      incidents: { endedAt: string | null; notes: { text: string }[] }[];
    };
  };
  await expect.poll(later(souk, 15_000, async () => (await status()).incidents.length)).toBe(1);
  const closed = await status();
  expect(closed.status).toBe('outage');
  const [incident] = closed.incidents;
  const [, from = '', until = ''] =
    /^The service was restored from a backup\. What was recorded between (.*) UTC and (.*) UTC may be missing/.exec(
      incident?.notes[0]?.text ?? '',
    ) ?? [];
  const begunAt = rows[0]?.begun.getTime() ?? 0;
  expect(Date.parse(`${from}Z`)).toBe(begunAt);
  // Admission is closed by a later statement.
  expect(Date.parse(`${until}Z`)).toBeGreaterThanOrEqual(begunAt + 7 * 60_000);

  await commandOf(souk).text(['admit', '--note', 'Purchases of these minutes were entered again.']);
  await expect.poll(later(souk, 15_000, async () => (await status()).incidents[0]?.endedAt)).toBeTruthy();
  expect((await status()).incidents[0]?.notes[1]?.text).toBe(
    'Purchases of these minutes were entered again.',
  );
  expect((await commandOf(souk).run('admit')).stderr).toBe('Calls are admitted already.\n');
});

test.for([
  ['another server', "system_id = '1'", 'restored'],
  ['a new timeline', "timeline = '00000000'", 'failed-over'],
] as const)(
  'a connection to %s admits no call before admission is closed',
  async ([_, change, reason], { ownSouk: souk }) => {
    await noteServer(souk.database);
    await souk.database.query(`update admission_state set ${change}`);
    const { accountId } = await souk.account();
    const money = openDatabase(souk.databaseUrl, createLogger('silent'), { prepare: NOTE_SERVER });
    try {
      const admissions = createAdmissions(money, souk.clock.now, OFF_PEAK, 60_000);
      const call = {
        caller: { accountId },
        callId: uuid(),
        operation: 'product',
        chargeId: '00'.repeat(16),
        units: 1,
        pool: 'market',
        deadlineAt: souk.clock.now() + 60_000,
        input: {},
        answer: null,
        background: true,
      } as const;
      await expect(admissions.admit(call)).rejects.toMatchObject({ kind: 'RECOVERING' });
      expect(await stateOf(souk)).toMatchObject({ open: false, reason });
    } finally {
      await money.end();
    }
  },
);

test('after a fail-over the service audits the books and admits calls again, but not if they are wrong', async ({
  ownSouk: souk,
}) => {
  const { accountId, key } = await souk.account();
  expect((await souk.clientOf(key).get(path())).status).toBe(200);
  const log = createLogger('silent');
  const close = () => souk.database.query("select souk_close_admission('failed-over')");
  await close();
  await expect
    .poll(
      later(souk, 5_000, () => stateOf(souk)),
      { timeout: 60_000 },
    )
    .toEqual(OPEN);

  await souk.database.query('update subscriptions set day_used = day_used + 1 where account_id = $1', [
    accountId,
  ]);
  await close();
  await reopenAfterFailOver(souk.database, log);
  expect(await stateOf(souk)).toEqual({ open: false, reason: 'failed-over', has_faults: true });
  const verified = await commandOf(souk).run('verify --json');
  expect(verified.code).toBe(1);
  const { ok, checks, admission } = JSON.parse(verified.stdout);
  expect([ok, admission]).toEqual([false, 'closed']);
  expect(checks.filter((check: { faults: unknown[] }) => check.faults.length > 0)).toEqual([
    {
      promise: 'the meters of a subscription equal the sums of its ledger lines',
      faults: [expect.objectContaining({ account_id: accountId })],
    },
  ]);
  await souk.database.query('update subscriptions set day_used = day_used - 1 where account_id = $1', [
    accountId,
  ]);
  await commandOf(souk).text('verify');
  expect(await stateOf(souk)).toEqual(OPEN);
});

test('calls whose requests have ended are released at no charge, and jobs and calls of batches go on', async ({
  ownSouk: souk,
}) => {
  const { accountId } = await souk.account();
  const insert = (kind: string, column: string) =>
    souk.database.query(
      `insert into open_calls (account_id, id, operation, claim_key, pool, units_reserved, accepted_at, deadline_at, ${column})
       values ($1, gen_random_uuid(), 'product', $2, 'trends', 0, now(), now() + interval '1 hour', true)`,
      [accountId, Buffer.from(kind)],
    );
  await insert('job', 'polled');
  await insert('batch', 'background');
  await souk.database.query(
    `insert into open_calls (account_id, id, operation, claim_key, pool, units_reserved, accepted_at, deadline_at)
     values ($1, gen_random_uuid(), 'product', 'request', 'trends', 0, now(), now() + interval '1 hour')`,
    [accountId],
  );
  await souk.database.query("select souk_close_admission('restored')");
  const { rows } = await souk.database.query(
    "select convert_from(claim_key, 'UTF8') as kind from open_calls where deadline_at <= now() + interval '1 second'",
  );
  expect(rows).toEqual([{ kind: 'request' }]);
});
