import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { ensureStandardPlans } from './billing/standard-plans.ts';
import { type Config, readConfig } from './config/config.ts';
import { CONSOLE, isLoopback } from './config/mail.ts';
import { systemClock } from './platform/clock.ts';
import { migrate } from './platform/db/migrate.ts';
import { openDatabase, readTime } from './platform/db/pool.ts';
import { postgresBinaries } from './platform/embedded/binaries.ts';
import { startPostgres } from './platform/embedded/postgres.ts';
import { startRedis } from './platform/embedded/redis.ts';
import { createLogger } from './platform/log.ts';
import { ConfigError } from './platform/settings.ts';
import { checkAccounts, checkKeepa, checkPostgres, checkRedis } from './start/check-services.ts';
import { startChild } from './start/child.ts';
import { claimDataDir, type DataDirClaim, ensureAdminToken, writeOwnServices } from './start/data-dir.ts';
import { ensureDemoAccount } from './start/demo-account.ts';
import { type DemoReports, openDemoReports } from './start/demo-reports.ts';
import { keepRunning } from './start/keep-running.ts';

/**
 * `npm start`: starts the services that are not configured (PostgreSQL, Redis, a demo data provider), then a worker and a
 * gateway. On a signal it stops them in reverse order.
 */
const undo: (() => Promise<void>)[] = [];
let stopping = false;
let claim: DataDirClaim | null = null;

process.on('SIGINT', () => void stop(0));
process.on('SIGTERM', () => void stop(0));
start().catch(fail);

async function start(): Promise<void> {
  const config = readConfig(process.env);
  const isDemo = usesDemoProvider(config);
  const dataDir = resolve(config.SOUK_DATA_DIR);
  claim = await claimDataDir(dataDir);
  undo.push(claim.release);

  // Generated reports are loaded only into the embedded database, and not if real ones are fetched, because they do not mix.
  const hasDemoReports = isDemo && !config.DATABASE_URL && !config.ABA_FETCH_COUNTRIES;
  const reports = hasDemoReports ? await demoReports(dataDir, config.DEMO_REPORT_TERMS) : null;
  const [databaseUrl, redisUrl, keepa] = await together([
    postgres(config, dataDir),
    redis(config, dataDir),
    provider(config, dataDir, isDemo),
  ]);
  const firstReports = reports ? loadReports(reports, databaseUrl) : null;

  // With the demo provider the operator console is always on; with a real provider the operator decides.
  const adminToken = isDemo && !config.ADMIN_TOKEN ? await ensureAdminToken(dataDir) : null;
  const demo: NodeJS.ProcessEnv = keepa ? demoSettings(keepa.url, hasDemoReports) : {};
  const env = {
    ...process.env,
    ...demo,
    ...mailsInConsole(config),
    ...(adminToken === null ? {} : { ADMIN_TOKEN: adminToken }),
    DATABASE_URL: databaseUrl,
    REDIS_URL: redisUrl,
    ...(keepa && { KEEPA_BASE_URL: keepa.url, KEEPA_API_KEY: keepa.key }),
  };
  // On a signal the gateway stops before the worker that its requests wait for.
  const [key] = await together([
    prepareAccounts(databaseUrl, dataDir, isDemo),
    child('worker', 'workers/main.ts', env, dataDir),
    child('gateway', 'src/main.ts', env, dataDir),
  ]);

  await firstReports;
  undo.push(
    await writeOwnServices(dataDir, {
      ...(config.DATABASE_URL ? {} : { databaseUrl }),
      ...(config.REDIS_URL ? {} : { redisUrl }),
      ...(keepa && { keepa, demoData: demo.DEMO_DATA }),
    }),
  );
  announce(`http://${publicHost(config)}:${config.PORT}`, key, adminToken);
}

function usesDemoProvider({ KEEPA_API_KEY }: Config): boolean {
  if (KEEPA_API_KEY !== undefined) return false;
  if (!isSet('KEEPA_BASE_URL')) return true;
  throw new ConfigError(
    'KEEPA_BASE_URL is set, but KEEPA_API_KEY is not. Set both, or neither to use the demo provider.',
  );
}

function isSet(name: string): boolean {
  return Boolean(process.env[name]?.trim());
}

/** Waits for all tasks even if one fails, so that everything that was started is known and can be stopped. */
async function together<const Tasks extends readonly Promise<unknown>[]>(tasks: Tasks) {
  await Promise.allSettled(tasks);
  return Promise.all(tasks);
}

/** Returns the address of a database with the present schema. */
async function postgres({ DATABASE_URL }: Config, dataDir: string): Promise<string> {
  const url = DATABASE_URL ?? (await embeddedPostgres(dataDir));
  await checkPostgres(url);
  await migrate(url);
  return url;
}

async function redis({ REDIS_URL, CACHE_REDIS_URL }: Config, dataDir: string): Promise<string> {
  const url = REDIS_URL ?? (await embeddedRedis(dataDir));
  await checkRedis(url);
  if (CACHE_REDIS_URL) await checkRedis(CACHE_REDIS_URL, 'CACHE_REDIS_URL');
  return url;
}

/** Returns the demo provider; null if the operator's provider is used. */
async function provider(config: Config, dataDir: string, isDemo: boolean) {
  const { KEEPA_BASE_URL, KEEPA_API_KEY = [] } = config;
  if (!isDemo) {
    for (const problem of await checkAccounts(KEEPA_BASE_URL, KEEPA_API_KEY)) say(problem);
    return null;
  }
  const keepa = await demoProvider(dataDir);
  await checkKeepa(keepa.url, keepa.key);
  return keepa;
}

async function embeddedPostgres(dataDir: string): Promise<string> {
  const binaries = await postgresBinaries();
  if (!binaries.isOfNpm)
    say(`npm's PostgreSQL is not installed; using Debian's PostgreSQL ${binaries.version}.`);
  return embedded('PostgreSQL', (url) =>
    startPostgres(join(dataDir, 'postgres'), { durable: true, binaries, ...(url ? { url } : {}) }),
  );
}

async function embeddedRedis(dataDir: string): Promise<string> {
  return embedded('Redis', (url) =>
    startRedis(join(dataDir, 'redis'), join(dataDir, 'tools'), { durable: true, ...(url ? { url } : {}) }),
  );
}

async function embedded(name: string, launch: Parameters<typeof keepRunning>[1]): Promise<string> {
  const onLost = (error: unknown) => void fail(error);
  const server = await keepRunning(name, launch, { say, onLaunch, onLost });
  undo.push(server.stop);
  return server.url;
}

function onLaunch(pid: number): void {
  claim?.note(pid);
}

async function demoProvider(dataDir: string): Promise<{ url: string; key: string }> {
  const url = await child('demo', 'demo/main.ts', process.env, dataDir);
  return { url, key: 'demo-demo-demo-demo' };
}

/** Settings that use the demo for search trends, pictures and payments and open the trial to all, unless they are configured. */
function demoSettings(providerUrl: string, hasReports: boolean): NodeJS.ProcessEnv {
  const hasTrends = !isSet('TRENDS_BASE_URL');
  return {
    DEMO_DATA: ['products', ...(hasTrends ? ['trends'] : []), ...(hasReports ? ['reports'] : [])].join(','),
    ...(hasTrends ? { TRENDS_BASE_URL: providerUrl } : {}),
    ...(isSet('IMAGE_CDN_URL') ? {} : { IMAGE_CDN_URL: providerUrl }),
    ...(isSet('TRIALS') ? {} : { TRIALS: 'open' }),
    ...(isSet('PAYMENTS') || isSet('STRIPE_SECRET_KEY') ? {} : { PAYMENTS: 'demo' }),
  };
}

/** Shows mails in the operator console if no mail server is configured and only this machine can open the pages. */
function mailsInConsole({ HOST, SMTP_URL, MAIL_FROM }: Config): NodeJS.ProcessEnv {
  return SMTP_URL === undefined && MAIL_FROM === undefined && isLoopback(HOST) ? { SMTP_URL: CONSOLE } : {};
}

function child(name: string, file: string, env: NodeJS.ProcessEnv, dataDir: string): Promise<string> {
  const started = startChild({
    name,
    file,
    env,
    say,
    onLaunch,
    logFile: join(dataDir, `${name}.log`),
  });
  undo.push(started.stop);
  return started.ready;
}

/** Starts generating search-term reports of the newest weeks. */
async function demoReports(dataDir: string, terms: number): Promise<DemoReports> {
  const ahead = !existsSync(join(dataDir, 'postgres'));
  const reports = await openDemoReports({ dataDir, now: systemClock.now(), ahead, terms });
  undo.push(reports.stop);
  return reports;
}

/** Loads the generated reports, and only reports a failure. Resolves when the first site has its weeks. */
async function loadReports(reports: DemoReports, databaseUrl: string): Promise<void> {
  const { first, all } = reports.load(databaseUrl);
  // Must stop before the database.
  undo.push(reports.stop);
  all.catch((error: unknown) => {
    if (!stopping)
      say(`The demo reports were not loaded: ${error instanceof Error ? error.message : String(error)}`);
  });
  await first.catch(() => {});
}

/** Creates the standard plans, and an account if the demo provider is used. @returns the account's key. */
async function prepareAccounts(
  databaseUrl: string,
  dataDir: string,
  isDemo: boolean,
): Promise<string | null> {
  const database = openDatabase(databaseUrl, createLogger('silent'), { max: 1 });
  try {
    await ensureStandardPlans(database);
    if (!isDemo) return null;
    return await ensureDemoAccount(database, join(dataDir, 'demo-key'), await readTime(database));
  } finally {
    await database.end();
  }
}

function publicHost({ HOST }: Config): string {
  if (HOST === '0.0.0.0' || HOST === '::') return '127.0.0.1';
  return HOST.includes(':') ? `[${HOST}]` : HOST;
}

function announce(address: string, key: string | null, adminToken: string | null): void {
  say(`Souk ready: ${address}`);
  if (key === null) return;
  say(`Demo key: ${key}`);
  if (adminToken !== null) say(`Operator console: ${address}/admin  token: ${adminToken}`);
  say(
    `Try: curl -H "X-API-Key: ${key}" "${address}/api/market/product?country=us&asins=B08N5WRWNX&detailLevel=summary"`,
  );
}

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}

async function stop(exitCode: number): Promise<void> {
  if (stopping) return;
  stopping = true;
  claim?.stopping();
  for (const step of undo.reverse()) await step().catch((error: unknown) => say(String(error)));
  process.exit(exitCode);
}

async function fail(error: unknown): Promise<void> {
  if (stopping) return;
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  await stop(1);
}
