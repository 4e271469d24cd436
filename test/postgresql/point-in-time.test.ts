import { expect, inject, onTestFinished, test } from 'vitest';
import { ensureAccount } from '../../src/accounts/accounts.ts';
import { createKey } from '../../src/accounts/authentication.ts';
import { grantPack } from '../../src/billing/grants.ts';
import { type Database, openDatabase } from '../../src/platform/db/pool.ts';
import { DAY_MS } from '../../src/platform/durations.ts';
import { createLogger } from '../../src/platform/log.ts';
import { type Client, createClient } from '../support/client.ts';
import { type ArchivedService, openArchivedService } from '../support/point-in-time.ts';
import { soukCommand } from '../support/souk-command.ts';

const UNITS = 100_000;
const CLIENTS = 8;

/** A call and what its client received. */
interface Seen {
  sentAt: number;
  endedAt: number;
  /** 0: no answer. */
  status: number;
  jobId: string | null;
  isJob: boolean;
}

/** Sends calls one after the other, each of other products; every third one asks for a job. */
function startLoad(client: Client): { seen: Seen[]; stop(): Promise<void> } {
  const seen: Seen[] = [];
  let isStopped = false;
  let count = 0;
  const send = async () => {
    while (!isStopped) {
      count += 1;
      const isJob = count % 3 === 0;
      const sentAt = Date.now();
      const headers = isJob ? { prefer: 'respond-async' } : {};
      const path = `/api/market/product?domain=1&detailLevel=summary&asins=B0DRIL${String(count).padStart(4, '0')}`;
      const reply = await client.get(path, { headers }).catch(() => null);
      seen.push({
        sentAt,
        endedAt: Date.now(),
        status: reply?.status ?? 0,
        jobId: reply?.headers['x-job-id'] ?? null,
        isJob,
      });
    }
  };
  const sending = Array.from({ length: CLIENTS }, send);
  return {
    seen,
    async stop() {
      isStopped = true;
      await Promise.all(sending);
    },
  };
}

interface StoredCall {
  id: string;
  state: string;
  charged: number;
}

async function openAccount({ database }: ArchivedService): Promise<string> {
  const now = Date.now();
  const accountId = await ensureAccount(database, 'ann@in.example', 'Ann', now);
  const [validFrom, validUntil] = [new Date(now), new Date(now + DAY_MS)];
  await grantPack(
    database,
    { accountId, wallet: 'general', units: UNITS, rateLimitPerMinute: 1_000_000, validFrom, validUntil },
    now,
  );
  return createKey(database, accountId, now);
}

test('recovers to a second after a crash with the loss of Redis, and accounts for every unit', {
  timeout: 300_000,
}, async () => {
  const service = await openArchivedService(inject('programs'));
  onTestFinished(() => service.close());
  const key = await openAccount(service);
  await service.baseBackup();
  const load = startLoad(createClient(await service.start(), key));
  await expect
    .poll(() => load.seen.filter(({ status }) => status === 200).length, { timeout: 60_000 })
    .toBeGreaterThan(60);
  const { rows } = await service.database.query<{ at: Date }>(
    "select date_trunc('milliseconds', clock_timestamp()) as at",
  );
  const target = rows[0]?.at ?? new Date();
  const before = load.seen.length;
  await expect.poll(() => load.seen.length, { timeout: 60_000 }).toBeGreaterThan(before + 40);
  await service.archive();
  const crashedAt = Date.now();
  await service.crash();
  await load.stop();
  const sizes = await service.sizes();
  await service.recover(target);
  const recoverMs = Date.now() - crashedAt;

  const database = openDatabase(service.databaseUrl, createLogger('silent'));
  onTestFinished(() => database.end());
  const { rows: underWay } = await database.query<{ id: string }>('select id from open_calls');
  expect(underWay.length).toBeGreaterThan(0);
  // Another process holds the lease of the audit, so that the operator's command comes first.
  await database.query(
    "insert into leases values ('reopen', gen_random_uuid(), now() + interval '1 hour') on conflict (name) do update set until = excluded.until, holder = excluded.holder",
  );
  const client = createClient(await service.start(), key);
  const refused = await client.get('/api/market/product?domain=1&asins=B0AFTER001');
  expect([refused.status, refused.json.code]).toEqual([503, 'RECOVERING']);
  expect((await client.get('/sign-in')).status).toBe(200);

  const verifyStartedAt = Date.now();
  const command = soukCommand({ DATABASE_URL: service.databaseUrl, SOUK_DATA_DIR: '/nonexistent/souk' });
  const verified = await command.json('verify');
  const verifyMs = Date.now() - verifyStartedAt;
  expect(verified).toMatchObject({ ok: true, admission: 'opened' });
  const recordedUntil = Date.parse(verified.recordedUntil);
  expect(recordedUntil).toBeLessThanOrEqual(target.getTime());
  expect(target.getTime() - recordedUntil).toBeLessThan(5_000);

  // Calls that were under way end by the ordinary means, and nothing stays open.
  await expect
    .poll(async () => (await database.query('select from open_calls')).rowCount, {
      timeout: 120_000,
      interval: 500,
    })
    .toBe(0);
  expect(await command.json('verify')).toMatchObject({ ok: true, openCalls: 0, admission: 'open' });
  const calls = await expectAccounted({ database, client, seen: load.seen, target: target.getTime() });

  const incident = await lostMinutes(client);
  expect(Math.abs(Date.parse(incident.from) - recordedUntil)).toBeLessThan(1_000);
  expect(Date.parse(incident.until)).toBeGreaterThanOrEqual(crashedAt - 1_000);
  expect((await client.get('/api/market/product?domain=1&asins=B0AFTER002')).status).toBe(200);

  const lost = ((crashedAt - recordedUntil) / 1000).toFixed(1);
  process.stdout.write(
    `Drill: base backup ${sizes.base} MiB, archive ${sizes.archive} MiB, ${calls} calls recovered, ${underWay.length} of them under way; recovered in ${(recoverMs / 1000).toFixed(1)} s, verified in ${(verifyMs / 1000).toFixed(1)} s, ${lost} s lost.\n`,
  );
});

/** Compares what clients received with what is recorded. @returns the number of recorded calls. */
async function expectAccounted({
  database,
  client,
  seen,
  target,
}: {
  database: Database;
  client: Client;
  seen: readonly Seen[];
  target: number;
}): Promise<number> {
  const { rows: calls } = await database.query<StoredCall>(
    'select id, state, units_charged as charged from finished_calls',
  );
  const stored = new Map(calls.map((call) => [call.id, call]));

  // A call that was answered before the target is recorded and charged.
  const answeredBefore = seen.filter(({ status, endedAt }) => status === 200 && endedAt < target);
  expect(answeredBefore.length).toBeGreaterThan(40);
  for (const { jobId } of answeredBefore)
    expect(stored.get(jobId ?? '')).toMatchObject({ state: 'settled', charged: 1 });
  // A call that is charged was answered, or its customer has its job and gets the result.
  const answered = new Map(seen.map((one) => [one.jobId, one]));
  const charged = calls.filter((call) => call.charged > 0);
  for (const { id } of charged) expect([200, 202], `call ${id}`).toContain(answered.get(id)?.status);
  const jobs = charged.filter(({ id }) => answered.get(id)?.status === 202);
  expect(jobs.length).toBeGreaterThan(0);
  const resultOf = async ({ id }: StoredCall) => (await client.get(`/api/jobs/${id}/result`)).status;
  // Redis has lost the results, so they are produced again, at no charge.
  await Promise.all(
    jobs.map((job) => expect.poll(() => resultOf(job), { timeout: 120_000, interval: 500 }).toBe(200)),
  );
  const { rows: packs } = await database.query<{ left: number }>('select remaining_units as left from packs');
  expect(packs).toEqual([{ left: UNITS - charged.reduce((sum, one) => sum + one.charged, 0) }]);
  // What came after the target is unknown, and was free.
  const after = seen.filter(({ status, sentAt }) => status === 200 && sentAt > target);
  expect(after.length).toBeGreaterThan(10);
  for (const { jobId } of after) expect(stored.has(jobId ?? '')).toBe(false);
  return calls.length;
}

/** The time of the status page whose records may be missing. */
async function lostMinutes(client: Client): Promise<{ from: string; until: string }> {
  let text = '';
  await expect
    .poll(
      async () => {
        const status = (await client.get('/status.json')).json as unknown as {
          incidents: { notes: { text: string }[]; endedAt: string | null }[];
        };
        text = status.incidents[0]?.notes[0]?.text ?? '';
        return status.incidents[0]?.endedAt;
      },
      { timeout: 60_000, interval: 1_000 },
    )
    .toBeTruthy();
  const [, from = '', until = ''] = /between (.*) UTC and (.*) UTC may be missing/.exec(text) ?? [];
  return { from: `${from}Z`, until: `${until}Z` };
}
