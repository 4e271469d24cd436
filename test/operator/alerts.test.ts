import { readFileSync } from 'node:fs';
import { Registry } from 'prom-client';
import { afterAll, beforeEach, expect } from 'vitest';
import { reportAlive } from '../../jobs/backlog.ts';
import { openQueues, type Queues } from '../../jobs/queues.ts';
import { WORKER_POOL_NAMES } from '../../src/operations/pools.ts';
import { ALERT_NAMES, ALERTS, type AlertName } from '../../src/operator/alerts/alerts.ts';
import { MEASURES } from '../../src/operator/alerts/measures.ts';
import { alertTargets } from '../../src/operator/alerts/messages.ts';
import { listAlerts, silenceAlert, watchAlerts } from '../../src/operator/alerts/watch.ts';
import { createChatSender } from '../../src/outbox/chat-sender.ts';
import { createMailSender } from '../../src/outbox/mail/mail-sender.ts';
import { systemClock } from '../../src/platform/clock.ts';
import { databaseClock } from '../../src/platform/db/pool.ts';
import { createLogger } from '../../src/platform/log.ts';
import { redisKeys } from '../../src/platform/redis-keys.ts';
import { createSecretBox } from '../../src/platform/secret-box.ts';
import { createProviderAccounts } from '../../src/upstream/provider-accounts.ts';
import type { AccountHealth } from '../../src/upstream/token-bucket.ts';
import { startOutbox } from '../../workers/background/outbox.ts';
import { staffOf } from '../support/customer.ts';
import type { MailServer } from '../support/mail-server.ts';
import { openReceiver } from '../support/receiver.ts';
import type { Souk } from '../support/souk.ts';
import { soukCommand } from '../support/souk-command.ts';
import { test } from '../support/souk-test.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const PUBLIC_URL = 'https://souk.example';

/** The chat of the operator. */
const chat = await openReceiver();
afterAll(() => chat.close());

const RECEIVERS = { mail: ['ops@souk.example'], webhook: `${chat.url}/services/T0/B0/secret` };
const mailBy = ({ url }: MailServer) => ({
  from: 'souk@souk.example',
  publicUrl: PUBLIC_URL,
  transport: { smtpUrl: url },
});

// Workers would measure the alerts as well, so that no test could say when.
test.override('soukOptions', { workers: 0, operator: { adminToken: 'only-for-the-operator' } });

let souk: Souk;
let mails: MailServer;
let deps: Parameters<typeof watchAlerts>[0];
let queues: Queues;

test.beforeAll(async ({ souk: opened, mailServer, redis }) => {
  souk = opened;
  mails = mailServer;
  const keys = redisKeys(souk.redisNamespace);
  const { database, clock, providers, logLines } = souk;
  const log = createLogger('debug', { write: (line) => void logLines.push(line) });
  queues = openQueues(redis, keys, log);
  deps = { database, redis, keys, queues, providers, clock, log, receivers: RECEIVERS };
  const outbox = startOutbox({ database, clock, log }, [
    createChatSender({
      clock,
      allowPrivate: true,
      targetsOf: async (messages) => alertTargets(RECEIVERS, PUBLIC_URL, messages),
    }),
    createMailSender({
      database,
      clock,
      secretBox: createSecretBox(),
      registry: new Registry(),
      settings: mailBy(mailServer),
      createResultLink: async () => null,
    }),
  ]);
  return async () => {
    await outbox.close();
    await queues.close();
  };
});

beforeEach(async () => {
  souk.clock.advance(2 * HOUR_MS);
  await ask('delete from alerts');
  await ask(`delete from outbox where kind = 'operator_alert'`);
  mails.reset();
  chat.received.length = 0;
});

const ask = (text: string, values: unknown[] = []) => souk.database.query(text, values);
const before = (ms: number) => new Date(souk.clock.now() - ms);

/** Waits until the worker has sent a mail and a chat message with this title. */
async function sent(title: string, service = souk) {
  await expect
    .poll(() => {
      service.clock.advanceTo('outbox step');
      return [
        mails.taken.some(({ subject }) => subject === title),
        chat.received.some(({ body }) => (JSON.parse(body) as { text: string }).text === title),
      ];
    })
    .toEqual([true, true]);
  return {
    mail: mails.taken.find(({ subject }) => subject === title),
    message: chat.received.map(({ body }) => body).find((body) => body.includes(title)) ?? '',
  };
}

const accounts = () =>
  createProviderAccounts({
    redis: deps.redis,
    keys: deps.keys,
    provider: souk.providers.products,
    clock: souk.clock,
    accounts: { present: [] },
    onDue: () => {},
  });
let stamp = 1e15;
/** The tokens of the account, which a worker has just named. */
async function bucket() {
  await ask(
    `insert into provider_accounts (provider, name, key_digest, created_at, seen_at) values ($1, 'main', '', $2, $2)
     on conflict (provider, name) do update set seen_at = excluded.seen_at`,
    [souk.providers.products, before(0)],
  );
  return accounts().bucketOf({ name: 'main', key: '' });
}
const health = async (...answers: AccountHealth[]) => {
  for (const answer of answers) await (await bucket()).record({ spent: 0 }, answer);
};
const tokens = async (tokensLeft: number) => {
  stamp += 1;
  await (await bucket()).record({ tokensLeft, refillIn: MINUTE_MS, refillRate: 10, timestamp: stamp }, null);
};

/** Each message has a millisecond of its own, from which its id is made. */
let messages = 0;

const message = (
  channel: string,
  host: string,
  accountId: number | null,
  error = 'The receiver could not be reached.',
) =>
  ask(
    `insert into outbox (id, channel, account_id, kind, recipient, host, payload, attempts, retries, next_attempt_at, last_error, created_at)
     values (souk_first_id($1), $2, $3, 'job.finished', 'https://' || $4, $4, '{}', 1, 1, $1::timestamptz + interval '1 day',
       $5, $1)`,
    [before(60_000 + messages++), channel, accountId, host, error],
  );
const withoutMessages = () => ask("delete from outbox where last_error is not null and state = 'pending'");

/** What causes each alert that Souk measures, and what ends it. */
const CAUSES: Record<string, { cause(): Promise<unknown>; end(): Promise<unknown>; line: string }> = {
  SoukNoWorker: {
    cause: async () => {},
    async end() {
      for (const pool of WORKER_POOL_NAMES)
        await reportAlive(deps.redis, deps.keys, pool, 'other', souk.clock.now());
    },
    line: 'exports',
  },
  SoukServerErrors: {
    cause: () =>
      ask(
        `insert into status_minutes values (date_trunc('minute', $1::timestamptz), 'api', 80, 20)
         on conflict (minute, component) do update set good = 80, bad = 20`,
        [before(0)],
      ),
    end: () => ask('delete from status_minutes'),
    line: '20 of 100 have failed in ten minutes',
  },
  SoukQueueWait: {
    async cause() {
      await reportAlive(deps.redis, deps.keys, 'exports', 'other', souk.clock.now());
      await deps.redis.set(deps.keys.meanDuration('exports'), 20_000);
      // No process takes them, because the worker of the pool has ended without saying so.
      const queue = queues.of('exports');
      for (let i = (await queue.getJobCounts('wait')).wait ?? 0; i < 3; i += 1)
        await queue.add('call', {} as never);
    },
    async end() {
      await queues.of('exports').obliterate({ force: true });
    },
    line: 'a new job would wait for 60 seconds',
  },
  SoukTokensLow: { cause: () => tokens(3), end: () => tokens(500), line: '3 of 600 tokens are left' },
  SoukProviderKeyRefused: {
    cause: () => health('refused'),
    end: () => health('works again'),
    line: 'refused at 2026-',
  },
  SoukProviderAccountSetAside: {
    cause: () => health('failed', 'failed', 'failed'),
    end: () => health('works again'),
    line: 'its requests fail',
  },
  SoukProviderFailing: {
    cause: () =>
      ask(
        `insert into provider_account_hours (provider, account, hour, answered, timeout)
         values ($1, 'main', date_trunc('hour', $2::timestamptz), 70, 30) on conflict do nothing`,
        [souk.providers.products, before(0)],
      ),
    end: () => ask('delete from provider_account_hours'),
    line: '30 of 100 requests have failed',
  },
  SoukMailsFailing: {
    async cause() {
      await withoutMessages();
      for (let i = 0; i < 3; i += 1) await message('mail', '', null, '550 <ann@private.example> unknown');
    },
    end: withoutMessages,
    line: '3 of 3 could not be sent: 550 (address) unknown',
  },
  SoukWebhooksFailing: {
    async cause() {
      await withoutMessages();
      const { accountId } = await souk.account();
      for (const host of ['one.example', 'two.example', 'three.example'])
        await message('webhook', host, accountId);
    },
    end: withoutMessages,
    line: '3 of 3 do not take messages',
  },
  SoukPaymentsFailing: {
    cause: () =>
      ask(
        `insert into failures (at, code, place, reason) values ($1, '5000', '/payments/stripe', 'broken')`,
        [before(MINUTE_MS)],
      ),
    end: () => ask('delete from failures'),
    line: 'have failed in the last hour',
  },
  SoukClockWrong: {
    async cause() {
      const machine = { ...systemClock, now: () => Date.now() + 90_000 };
      const stop = await databaseClock(machine).follow(souk.database, deps.log);
      await stop();
    },
    end: () => ask('delete from wrong_clocks'),
    line: '90 seconds ahead of PostgreSQL',
  },
  SoukStorageGrowing: {
    // As if the database had been smaller by 1.1 GB.
    cause: () =>
      ask(
        `insert into daily_figures values ($1::date, 'database.bytes', pg_database_size(current_database()) - 1.1e9)
         on conflict (day, name) do update set value = excluded.value`,
        [before(24 * HOUR_MS)],
      ),
    end: () => ask('delete from daily_figures'),
    line: 'GB now',
  },
  SoukBackupOld: {
    cause: () =>
      ask(`insert into audit_log (at, channel, operator, action) values ($1, 'command', 'cron', 'backup')`, [
        before(26 * HOUR_MS),
      ]),
    end: () =>
      ask(`insert into audit_log (at, channel, operator, action) values ($1, 'command', 'cron', 'backup')`, [
        before(-HOUR_MS),
      ]),
    line: 'at 2026-',
  },
  SoukBooksWrong: {
    cause: () =>
      ask(
        `insert into book_faults (account_id, promise, faults, row, found_at, seen_at)
         select min(id), 'no pack is ever overdrawn', 1, '{}', $1, $1 from accounts on conflict do nothing`,
        [before(0)],
      ),
    end: () => ask('delete from book_faults'),
    line: 'no pack is ever overdrawn: not kept in 1 row',
  },
  SoukReportMissing: {
    cause: () =>
      ask(
        `insert into aba_fetches values (1, '2026-02-21', null, 12, $1, 'not ready') on conflict do nothing`,
        [before(-HOUR_MS)],
      ),
    end: () => ask('delete from aba_fetches'),
    line: '12 attempts: not ready',
  },
};

const MEASURED = ALERT_NAMES.filter((name) => MEASURES[name] !== null);

test('the tests cause every alert that Souk measures', () => {
  expect(Object.keys(CAUSES).sort()).toEqual([...MEASURED].sort());
});

test.for(Object.keys(CAUSES) as AlertName[])(
  '%s fires from its cause, is notified by mail and chat with its cause, page and runbook, and when it is over',
  { timeout: 60_000 },
  async (name) => {
    const { cause, end, line } = CAUSES[name] as (typeof CAUSES)[string];
    const { says, afterMinutes, runbook, cause: usual } = ALERTS[name];
    await cause();
    await watchAlerts(deps);
    souk.clock.advance(afterMinutes * MINUTE_MS);
    await cause();
    await watchAlerts(deps);
    const shown = (await listAlerts(souk.database, souk.clock.now())).find((one) => one.name === name);
    expect(shown).toMatchObject({ level: 'firing', alert: { says } });

    const begun = await sent(says);
    for (const text of [line, usual, `${PUBLIC_URL}/admin/alerts/${name}`]) {
      expect(begun.mail?.text).toContain(text);
      expect(begun.message).toContain(text);
    }
    expect(begun.mail?.to).toEqual([{ address: 'ops@souk.example', name: '' }]);
    expect(chat.received[0]?.path).toBe('/services/T0/B0/secret');
    const { visitor } = await staffOf(souk);
    const page = await visitor.get(`/admin/alerts/${name}`);
    const [, title = ''] =
      /^# (.*)/.exec(readFileSync(`docs/operating/runbooks/${runbook}.md`, 'utf8')) ?? [];
    for (const text of [says, line, title]) expect(page.text).toContain(text);

    await end();
    souk.clock.advance(6 * MINUTE_MS);
    await end();
    await watchAlerts(deps);
    await sent(`Over: ${says}`);
  },
);

test('several processes that measure at the same time send an alert once, and not again within an hour', async () => {
  const report = CAUSES.SoukReportMissing as (typeof CAUSES)[string];
  await report.cause();
  await Promise.all(Array.from({ length: 4 }, () => watchAlerts(deps)));
  await sent(ALERTS.SoukReportMissing.says);
  souk.clock.advance(59 * MINUTE_MS);
  await watchAlerts(deps);
  const { rows } = await ask(
    `select channel, recipient, payload from outbox where kind = 'operator_alert' and created_at > $1 order by 1`,
    [before(HOUR_MS)],
  );
  expect(rows.filter(({ payload }) => String(payload).includes('SoukReportMissing'))).toMatchObject([
    { channel: 'chat', recipient: `${new URL(chat.url).host}/***` },
    { channel: 'mail', recipient: 'ops@souk.example' },
  ]);
  expect(JSON.stringify(rows)).not.toContain('/services/');
  await report.end();
});

test('a week that is not requested any more is not reported as missing', async () => {
  const { cause, end } = CAUSES.SoukReportMissing as (typeof CAUSES)[string];
  await cause();
  const missing = () => MEASURES.SoukReportMissing?.(deps, souk.clock.now());
  expect(await missing()).toHaveLength(1);
  await ask('update aba_fetches set next_attempt_at = $1', [before(48 * HOUR_MS)]);
  expect(await missing()).toEqual([]);
  await end();
});

test('a silenced alert is listed and sends nothing', async () => {
  const { cause, end } = CAUSES.SoukReportMissing as (typeof CAUSES)[string];
  const { visitor } = await staffOf(souk);
  await visitor.get('/admin/alerts/SoukReportMissing');
  await visitor.post('/admin/alerts/SoukReportMissing/silence', { for: '1d' });
  await cause();
  await watchAlerts(deps);
  expect((await ask(`select notified from alerts where name = 'SoukReportMissing'`)).rows).toEqual([
    { notified: null },
  ]);
  expect((await visitor.get('/admin/alerts')).text).toMatch(
    /A weekly report did not arrive.*firing.*silenced/s,
  );
  const command = soukCommand({ DATABASE_URL: souk.databaseUrl });
  const listed = await command.json('alerts');
  expect(listed).toContainEqual(
    expect.objectContaining({ name: 'SoukReportMissing', runbook: 'docs/operating/runbooks/reports.md' }),
  );
  expect(await command.text('alerts --silence SoukReportMissing --for end')).toContain('SoukReportMissing');
  const { rows } = await ask(
    `select channel, target, after from audit_log where action = 'alert.silenced' order by id`,
  );
  expect(rows).toMatchObject([
    { channel: 'console', target: 'SoukReportMissing', after: { until: expect.any(String) } },
    { channel: 'command', target: 'SoukReportMissing', after: { until: null } },
  ]);
  await end();
  await silenceAlert(souk.database, 'SoukReportMissing', null);
});

test('the front page of the console and the metrics show what fires', async () => {
  const { cause, end } = CAUSES.SoukReportMissing as (typeof CAUSES)[string];
  await cause();
  await watchAlerts(deps);
  const { visitor } = await staffOf(souk);
  expect((await visitor.get('/admin')).text).toContain(ALERTS.SoukReportMissing.says);
  const metrics = await (await fetch(`${souk.clientOf('').baseUrl}/metrics`)).text();
  expect(metrics).toContain('souk_alert{alert="SoukReportMissing"} 1');
  expect(metrics).toContain('souk_alert{alert="SoukBackupOld"} 0');
  expect(metrics).not.toContain('SoukProcessDown');
  await end();
});

test('an alert that cannot be measured, and one that is never answered, are logged, and the others are measured', async () => {
  const { cause, end } = CAUSES.SoukReportMissing as (typeof CAUSES)[string];
  await cause();
  const hanging = new Proxy(deps.redis, { get: () => () => new Promise(() => {}) });
  const broken = {
    ...deps.providers,
    get products(): string {
      throw new Error('broken on purpose');
    },
  };
  souk.logLines.length = 0;
  const watched = watchAlerts({ ...deps, redis: hanging, providers: broken });
  await souk.clock.until('measure of an alert');
  await expect.poll(() => souk.clock.countOf('measure of an alert')).toBeLessThanOrEqual(3);
  souk.clock.advance(10_000);
  await watched;
  const failed = souk.logLines
    .map((line) => JSON.parse(line))
    .filter(({ msg }) => msg === 'failed to measure an alert');
  expect(failed.map(({ alert }) => alert)).toEqual(
    expect.arrayContaining(['SoukNoWorker', 'SoukTokensLow', 'SoukProviderFailing']),
  );
  const { rows } = await ask(
    `select since is not null as holds from alerts where name = 'SoukReportMissing'`,
  );
  expect(rows).toEqual([{ holds: true }]);
  await end();
});

test('a worker measures the alerts once a minute, and sends the messages', { timeout: 60_000 }, async ({
  openAnother,
  mailServer,
}) => {
  const other = await openAnother({ mail: mailBy(mailServer), alerts: RECEIVERS });
  await other.database.query(
    `insert into aba_fetches values (1, '2026-02-21', null, 12, '2026-03-04', 'not ready')`,
  );
  other.clock.advance(MINUTE_MS);
  await sent(ALERTS.SoukReportMissing.says, other);
});
