import { resolve } from 'node:path';
import { createOpenId, OpenIdFailed, type OpenIdSettings } from '../../accounts/openid.ts';
import { listBookFaults, readGuard } from '../../billing/book-guard.ts';
import { type Config, readConfig } from '../../config/config.ts';
import { gatewaySettings, workerSettings } from '../../config/start-up.ts';
import { systemClock } from '../../platform/clock.ts';
import { migrationNames } from '../../platform/db/migrate.ts';
import { type Database, openDatabase } from '../../platform/db/pool.ts';
import { createLogger } from '../../platform/log.ts';
import { closeRedis, connectRedis, mastersOf } from '../../platform/redis.ts';
import { checkAccounts, checkKeepa, checkPostgres, checkRedis } from '../../start/check-services.ts';
import { findOwnServices, type OwnServices } from '../../start/data-dir.ts';
import { databaseUrlOf, moment, reporting } from '../terminal.ts';

export const doctorCommand = reporting(
  {
    name: 'doctor',
    description:
      'checks settings, PostgreSQL, migrations, the books, Redis, single sign-on and the data provider',
  },
  async (_read, env) => {
    const checks = await runChecks(env);
    const failed = checks.some(({ state }) => state === 'failed');
    return {
      data: { ok: !failed, checks },
      text: checks.map(({ name, state, message }) => `${state.padEnd(7)} ${name}: ${message}`).join('\n'),
      failed,
    };
  },
);

interface Check {
  name:
    | 'settings'
    | 'PostgreSQL'
    | 'migrations'
    | 'books'
    | 'Redis'
    | 'Redis memory'
    | 'Redis persistence'
    | 'Redis compression'
    | 'cache Redis'
    | 'cache Redis memory'
    | 'single sign-on'
    | 'data provider';
  /** `warning`: works, but should be improved. */
  state: 'ok' | 'warning' | 'failed';
  message: string;
}

type Result = Omit<Check, 'name' | 'state'> & { state?: Check['state'] };

/** Checks everything the service needs, in order. Skips checks that depend on a failed one. */
async function runChecks(env: NodeJS.ProcessEnv): Promise<Check[]> {
  const checks: Check[] = [];
  /** Runs a check and records its outcome. @returns whether it passed. */
  const check = async (name: Check['name'], run: () => Promise<Result>): Promise<boolean> => {
    try {
      checks.push({ name, state: 'ok', ...(await run()) });
    } catch (error) {
      checks.push({ name, state: 'failed', message: error instanceof Error ? error.message : String(error) });
    }
    return checks.at(-1)?.state !== 'failed';
  };

  let config: Config | undefined;
  let openId: OpenIdSettings | null | undefined;
  await check('settings', async () => {
    config = readConfig(env);
    openId = gatewaySettings(config).openId;
    // Only workers have the key. The settings of a gateway lack others that workers need.
    if (config.KEEPA_API_KEY) workerSettings(config);
    return { message: 'valid' };
  });
  if (!config) return checks;
  const settings = config;
  const own = await findOwnServices(resolve(settings.SOUK_DATA_DIR));

  let databaseUrl = '';
  const hasPostgres = await check('PostgreSQL', async () => {
    databaseUrl = await databaseUrlOf(settings);
    await checkPostgres(databaseUrl);
    return { message: `reachable${settings.DATABASE_URL ? '' : ', run by npm start'}` };
  });
  if (hasPostgres && (await check('migrations', () => onDatabase(databaseUrl, migrations))))
    await check('books', () => onDatabase(databaseUrl, books));

  const redisUrl = settings.REDIS_URL ?? own.redisUrl;
  const hasRedis = await check('Redis', async () => {
    if (!redisUrl)
      throw new Error(
        'REDIS_URL is not set, and `npm start` is not running. Set REDIS_URL or run `npm start`.',
      );
    await checkRedis(redisUrl);
    return { message: `reachable${settings.REDIS_URL ? '' : ', run by npm start'}` };
  });
  if (hasRedis && redisUrl) {
    const servers = await redisServers(redisUrl);
    await check('Redis memory', async () => worstOf(servers.map(memory)));
    await check('Redis persistence', async () => worstOf(servers.map(persistence)));
    await check('Redis compression', async () => worstOf(servers.map(compression)));
  }

  const { CACHE_REDIS_URL: cacheUrl } = settings;
  if (cacheUrl) {
    const hasCache = await check('cache Redis', async () => {
      await checkRedis(cacheUrl, 'CACHE_REDIS_URL');
      return { message: 'reachable' };
    });
    if (hasCache)
      await check('cache Redis memory', async () => worstOf((await redisServers(cacheUrl)).map(cacheMemory)));
  }

  if (openId) {
    const found = openId;
    await check('single sign-on', () => singleSignOn(found, settings));
  }
  await check('data provider', () => provider(settings, own));
  return checks;
}

async function singleSignOn(openId: OpenIdSettings, { PUBLIC_URL = '' }: Config): Promise<Result> {
  const { begin } = createOpenId(openId, systemClock);
  await begin(`${PUBLIC_URL}/sign-in/openid/callback`, '/account').catch((error: unknown) => {
    throw error instanceof OpenIdFailed ? new Error(`OIDC_ISSUER cannot be used: ${error.reason}`) : error;
  });
  return { message: 'the provider answers' };
}

async function onDatabase(
  databaseUrl: string,
  work: (database: Database) => Promise<Result>,
): Promise<Result> {
  const database = openDatabase(databaseUrl, createLogger('silent'), { max: 1 });
  try {
    return await work(database);
  } finally {
    await database.end();
  }
}

async function migrations(database: Database): Promise<Result> {
  const names = migrationNames();
  const { rows: exists } = await database.query<{ table: string | null }>(
    "select to_regclass('migrations')::text as table",
  );
  const { rows } = exists[0]?.table
    ? await database.query<{ name: string }>('select name from migrations')
    : { rows: [] };
  const done = new Set(rows.map(({ name }) => name));
  const missing = names.filter((name) => !done.has(name));
  if (missing.length === 0) return { message: `all ${names.length} applied` };
  throw new Error(`${missing.join(', ')} not applied. Run \`npm run migrate\`.`);
}

const MOST_FAULTS = 100;

/** Reports the findings of the audit that workers repeat. `verify` audits everything at one moment. */
async function books(database: Database): Promise<Result> {
  const { roundStartedAt, audited, unaudited } = await readGuard(database);
  const faults = await listBookFaults(database, MOST_FAULTS);
  if (faults.length > 0) {
    const of = faults.map(({ accountId, promise }) => `${promise} (account ${accountId})`);
    throw new Error(`not kept: ${of.join('; ')}. Run \`npm run souk -- verify\`.`);
  }
  if (roundStartedAt === null) return { message: 'no account was audited yet' };
  const message = `right for ${audited} accounts audited since ${moment(new Date(roundStartedAt))}`;
  if (unaudited === 0) return { message };
  return { state: 'warning', message: `${message}; the audit of ${unaudited} took too long` };
}

/** A server that holds keys. */
interface RedisServer {
  /** What INFO returns. */
  info: string;
  /** The value of `rdbcompression`; null if the server does not show its settings, as is common at providers of hosted Redis. */
  rdbCompression: string | null;
}

async function redisServers(url: string): Promise<RedisServer[]> {
  const redis = await connectRedis(url, 'serving', createLogger('silent'));
  try {
    return await Promise.all(
      mastersOf(redis).map(async (server) => ({
        info: await server.info(),
        rdbCompression: await server.config('GET', 'rdbcompression').then(
          (settings) => (settings as string[])[1] ?? null,
          () => null,
        ),
      })),
    );
  } finally {
    await closeRedis(redis);
  }
}

/** Returns the first result with a warning; the first result if there is none with a warning. */
function worstOf(results: readonly Result[]): Result {
  return results.find(({ state }) => state) ?? results[0] ?? { message: 'no server' };
}

function memory({ info }: RedisServer): Result {
  const [, policy = 'unknown'] = /^maxmemory_policy:(\S+)/m.exec(info) ?? [];
  if (policy === 'noeviction') return { message: 'maxmemory-policy is noeviction' };
  throw new Error(
    `maxmemory-policy is ${policy}, so Redis may evict jobs. Set it to noeviction (CONFIG SET maxmemory-policy noeviction).`,
  );
}

/** Without a limit the server takes all memory; without eviction it stops storing when it is full. Calls are answered in both cases. */
function cacheMemory({ info }: RedisServer): Result {
  const [, limit = '0'] = /^maxmemory:(\d+)/m.exec(info) ?? [];
  const [, policy = 'unknown'] = /^maxmemory_policy:(\S+)/m.exec(info) ?? [];
  if (limit === '0')
    return { state: 'warning', message: 'maxmemory is not set, so cached data is never evicted. Set it.' };
  if (policy.startsWith('allkeys-'))
    return { message: `maxmemory is set, and maxmemory-policy is ${policy}` };
  return {
    state: 'warning',
    message: `maxmemory-policy is ${policy}, so nothing is cached while the memory is full. Set it to allkeys-lru.`,
  };
}

/** Losing Redis repeats work but costs no units, so this is a warning. */
function persistence({ info }: RedisServer): Result {
  if (/^aof_enabled:1/m.test(info)) return { message: 'append-only file is on' };
  return {
    state: 'warning',
    message:
      'append-only file is off, so a restart of Redis repeats work and fetches answers again. Set appendonly to yes.',
  };
}

function compression({ rdbCompression }: RedisServer): Result {
  if (rdbCompression === null) return { message: 'not known, because the server does not show its settings' };
  if (rdbCompression === 'no') return { message: 'rdbcompression is no' };
  return {
    state: 'warning',
    message: `rdbcompression is ${rdbCompression}, so Redis compresses stored answers a second time whenever it rewrites its file. Set it to no (CONFIG SET rdbcompression no).`,
  };
}

async function provider(config: Config, own: OwnServices): Promise<Result> {
  const { KEEPA_API_KEY: accounts, KEEPA_BASE_URL: url } = config;
  if (accounts) {
    const problems = await checkAccounts(url, accounts);
    if (problems.length > 0) return { state: 'warning', message: problems.join(' ') };
    return { message: `${url} accepts ${accounts.length === 1 ? 'the key' : `${accounts.length} keys`}` };
  }
  // Gateways have no key.
  if (!own.keepa)
    return {
      state: 'warning',
      message:
        'KEEPA_API_KEY is not set, and `npm start` is not running the demo provider. Run this where workers run, which need the key.',
    };
  await checkKeepa(own.keepa.url, own.keepa.key);
  return { message: 'the demo provider of npm start responds' };
}
