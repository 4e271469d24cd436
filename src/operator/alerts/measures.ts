import { countAlive, expectedWaitMs } from '../../../jobs/backlog.ts';
import type { Queues } from '../../../jobs/queues.ts';
import { listBookFaults } from '../../billing/book-guard.ts';
import { firstIdAt } from '../../billing/calls.ts';
import { overdueWeeks } from '../../brand-analytics/import/import-week.ts';
import { POOL_NAMES, type Providers, TEST_POOL, WORKER_POOL_NAMES } from '../../operations/pools.ts';
import type { Channel } from '../../outbox/queue.ts';
import type { Database } from '../../platform/db/pool.ts';
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../platform/durations.ts';
import type { Stores } from '../../platform/stores.ts';
import { type AccountReading, readAccounts } from '../../upstream/stored-accounts.ts';
import type { AccountTrouble } from '../../upstream/token-bucket.ts';
import { memoryOf } from '../redis-contents.ts';
import { COMPONENTS, type ComponentId } from '../status/incidents.ts';
import type { AlertName } from './alerts.ts';

/** What an alert is about: an account, a pool, a site; and what is wrong with it. */
export interface AlertLine {
  name: string;
  text: string;
}

export interface MeasureDeps extends Pick<Stores, 'database' | 'redis' | 'keys' | 'clock'> {
  queues: Queues;
  providers: Providers;
}

/** Returns what fulfils the condition of an alert; nothing if all is well. */
type Measure = (deps: MeasureDeps, now: number) => Promise<AlertLine[]>;

const NUMBER = new Intl.NumberFormat('en', { maximumFractionDigits: 0 });

/** The most broken promises that a message names. */
const MOST_FAULTS = 20;

const inGigabytes = (bytes: number) => `${(bytes / 1e9).toFixed(1)} GB`;

/** The figures of each alert; null: only Prometheus has them, because a process counts them in its memory. */
export const MEASURES: Readonly<Record<AlertName, Measure | null>> = {
  SoukProcessDown: null,
  SoukStoreSlow: null,
  SoukCacheFailing: null,

  async SoukServerErrors({ database }, now) {
    const { rows } = await database.query<{ component: ComponentId; good: number; bad: number }>(
      `select component, sum(good)::bigint as good, sum(bad)::bigint as bad from status_minutes
       where minute > $1 and not starts_with(component, 'upstream:') and component <> 'pool:batch'
       group by component order by sum(bad) desc`,
      [new Date(now - 10 * MINUTE_MS)],
    );
    const sum = (field: 'good' | 'bad') => rows.reduce((total, row) => total + row[field], 0);
    const bad = sum('bad');
    if (bad < 5 || bad <= 0.05 * (bad + sum('good'))) return [];
    return rows
      .filter((row) => row.bad > 0)
      .map((row) => ({
        name: COMPONENTS[row.component]?.[0] ?? row.component,
        text: `${NUMBER.format(row.bad)} of ${NUMBER.format(row.good + row.bad)} have failed in ten minutes`,
      }));
  },

  async SoukQueueWait(deps, now) {
    const pools = await Promise.all(
      POOL_NAMES.map(async (pool) => ({ pool, waitMs: await expectedWaitMs(deps, pool, now) })),
    );
    return pools
      .filter(({ waitMs }) => waitMs > 30_000 && Number.isFinite(waitMs))
      .map(({ pool, waitMs }) => ({
        name: pool,
        text: `a new job would wait for ${NUMBER.format(waitMs / 1000)} seconds`,
      }));
  },

  async SoukNoWorker({ redis, keys }, now) {
    const pools = WORKER_POOL_NAMES.filter((pool) => pool !== TEST_POOL);
    const alive = await Promise.all(pools.map((pool) => countAlive(redis, keys, pool, now)));
    return pools
      .filter((_, i) => alive[i] === 0)
      .map((pool) => ({ name: pool, text: 'has no worker, so its calls are refused' }));
  },

  async SoukTokensLow(deps) {
    return (await activeAccounts(deps)).flatMap(({ name, tokens }) =>
      tokens && tokens.left < 0.05 * 60 * tokens.perMinute
        ? [
            {
              name,
              text: `${NUMBER.format(tokens.left)} of ${NUMBER.format(60 * tokens.perMinute)} tokens are left`,
            },
          ]
        : [],
    );
  },

  async SoukProviderKeyRefused(deps) {
    return (await activeAccounts(deps)).flatMap(({ name, trouble }) =>
      // An account whose key is accepted again is no longer set aside.
      trouble?.until && trouble.reason === 'refused'
        ? [{ name, text: `refused at ${trouble.at.toISOString().slice(0, 16)}Z` }]
        : [],
    );
  },

  async SoukProviderAccountSetAside(deps) {
    return (await activeAccounts(deps)).flatMap(({ name, trouble }) =>
      trouble?.until && trouble.reason !== 'refused' ? [{ name, text: TROUBLES[trouble.reason] }] : [],
    );
  },

  async SoukProviderFailing({ database, providers }, now) {
    const { rows } = await database.query<{ account: string; failed: number; all: number }>(
      `select account, sum(failed + timeout)::bigint as failed,
         sum(answered + refused + limited + failed + timeout)::bigint as all
       from provider_account_hours where provider = $1 and hour > $2 group by account order by account`,
      [providers.products, new Date(now - 2 * HOUR_MS)],
    );
    return rows
      .filter(({ failed, all }) => all >= 20 && failed > 0.2 * all)
      .map(({ account, failed, all }) => ({
        name: account,
        text: `${NUMBER.format(failed)} of ${NUMBER.format(all)} requests have failed`,
      }));
  },

  async SoukMailsFailing({ database }, now) {
    const [mails] = await sendingOf(database, ['mail'], now);
    if (!mails || mails.failing < 3 || mails.failing < 0.2 * mails.all) return [];
    const { failing, all, error } = mails;
    return [
      {
        name: 'Mails',
        text: `${NUMBER.format(failing)} of ${NUMBER.format(all)} could not be sent: ${withoutAddresses(error)}`,
      },
    ];
  },

  async SoukWebhooksFailing({ database }, now) {
    const hosts = await sendingOf(database, ['webhook', 'chat'], now);
    const failing = hosts.filter((host) => host.failing > 0);
    if (failing.length < 3 || failing.length < 0.5 * hosts.length) return [];
    const most = Math.max(...failing.map((host) => host.failing));
    const [example] = failing.filter((host) => host.failing === most);
    return [
      {
        name: 'Hosts',
        text: `${NUMBER.format(failing.length)} of ${NUMBER.format(hosts.length)} do not take messages, for example: ${example?.error}`,
      },
    ];
  },

  async SoukPaymentsFailing({ database }, now) {
    const { rows } = await database.query<{ unpaid: number; running: number; failures: number }>(
      `select (select count(*) from renewing_plans where state = 'past_due') as unpaid,
         (select count(*) from renewing_plans where state in ('active', 'past_due')) as running,
         (select count(*) from failures where at > $1 and place = any($2)) as failures`,
      [new Date(now - HOUR_MS), PAYMENT_PLACES],
    );
    const { unpaid = 0, running = 0, failures = 0 } = rows[0] ?? {};
    return [
      ...(unpaid > 0 && unpaid >= 0.2 * running
        ? [{ name: 'Renewing plans', text: `${unpaid} of ${running} are unpaid` }]
        : []),
      ...(failures > 0
        ? [{ name: 'Requests about payments', text: `${failures} have failed in the last hour` }]
        : []),
    ];
  },

  async SoukClockWrong({ database }, now) {
    const { rows } = await database.query<{ process: string; aheadMs: number }>(
      'select process, ahead_ms as "aheadMs" from wrong_clocks where noted_at > $1 order by process',
      [new Date(now - 2 * MINUTE_MS)],
    );
    return rows.map(({ process, aheadMs }) => ({
      name: process,
      text: `${NUMBER.format(Math.abs(aheadMs) / 1000)} seconds ${aheadMs > 0 ? 'ahead of' : 'behind'} PostgreSQL`,
    }));
  },

  async SoukStorageGrowing({ database, redis }, now) {
    const { rows } = await database.query<{ bytes: number; before: number | null }>(
      `select pg_database_size(current_database())::float8 as bytes,
         (select value from daily_figures where name = 'database.bytes' and day = $1::date) as before`,
      [new Date(now - DAY_MS)],
    );
    const { bytes = 0, before = null } = rows[0] ?? {};
    const { usedBytes, limitBytes } = await memoryOf(redis);
    return [
      ...(before !== null && bytes > 1.25 * before && bytes > before + 1e9
        ? [{ name: 'Database', text: `${inGigabytes(before)} yesterday, ${inGigabytes(bytes)} now` }]
        : []),
      ...(limitBytes > 0 && usedBytes >= 0.9 * limitBytes
        ? [{ name: 'Redis', text: `${inGigabytes(usedBytes)} of ${inGigabytes(limitBytes)} are used` }]
        : []),
    ];
  },

  async SoukBackupOld({ database }, now) {
    const { rows } = await database.query<{ at: Date | null }>(
      `select max(at) as at from audit_log where action = 'backup'`,
    );
    const at = rows[0]?.at;
    if (!at || now - at.getTime() <= DAY_MS) return [];
    return [{ name: 'Last backup', text: `at ${at.toISOString().slice(0, 16)}Z` }];
  },

  async SoukBooksWrong({ database }) {
    const faults = await listBookFaults(database, MOST_FAULTS);
    return faults.map(({ accountId, promise, faults: rows }) => ({
      name: `Account ${accountId}`,
      text: `${promise}: not kept in ${NUMBER.format(rows)} ${rows === 1 ? 'row' : 'rows'}`,
    }));
  },

  async SoukReportMissing({ database }, now) {
    return (await overdueWeeks(database, now)).map(({ site, week, attempts, reason }) => ({
      name: `${site}, ${week}`,
      text: `${attempts} attempts: ${reason ?? 'not available yet'}`,
    }));
  },
};

/** Mail servers repeat the address of the receiver, and alerts are kept after a person is erased. */
function withoutAddresses(text: string | null): string {
  return String(text).replaceAll(/\S*@\S*/g, '(address)');
}

/** Where requests about payments fail, as the failure log names it. */
const PAYMENT_PLACES = ['/account/checkout', '/payments/stripe'];

const TROUBLES: Readonly<Record<AccountTrouble['reason'], string>> = {
  refused: 'its key is refused',
  failed: 'its requests fail',
  timeout: 'its requests are not answered in time',
  limited: 'the provider limits its requests',
};

async function activeAccounts(deps: MeasureDeps): Promise<AccountReading[]> {
  return (await readAccounts(deps, deps.providers.products)).filter(({ state }) => state === 'active');
}

/** How the messages of a channel to a host were received, those of the last hour and those that are tried again. */
interface Sending {
  host: string;
  all: number;
  failing: number;
  /** Of a message that failed. */
  error: string | null;
}

/** @returns by host; mails have one. Messages that were not tried yet are left out. */
async function sendingOf(database: Database, channels: readonly Channel[], now: number): Promise<Sending[]> {
  const { rows } = await database.query<Sending>(
    `select host, count(*) as all, count(*) filter (where failing) as failing, max(error) filter (where failing) as error
     from (
       select host, last_error as error, last_error is not null and state in ('pending', 'failed') as failing
       from outbox where channel = any($1) and id >= $2 and (attempts > 0 or state <> 'pending')
       union all
       select host, last_error, true from outbox
       where channel = any($1) and state = 'pending' and attempts > 0 and id < $2
     ) as m group by host order by host`,
    [channels, firstIdAt(now - HOUR_MS)],
  );
  return rows;
}
