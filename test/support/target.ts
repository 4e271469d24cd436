import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { ensureAccount } from '../../src/accounts/accounts.ts';
import { createKey } from '../../src/accounts/authentication.ts';
import { grantSubscription, upsertPlan } from '../../src/billing/grants.ts';
import { type Database, openDatabase } from '../../src/platform/db/pool.ts';
import { DAY_MS } from '../../src/platform/durations.ts';
import { freePort } from '../../src/platform/embedded/server-process.ts';
import { createLogger } from '../../src/platform/log.ts';
import { startProgram } from './soak/program.ts';

/** The compiled programs as processes of their own on given stores, to be attacked over HTTP. */
export interface Target {
  database: Database;
  /** Address of the gateway that is attacked. */
  gateway: string;
  /** Address of a second gateway, which is not attacked. */
  calmGateway: string;
  /** Process id of the attacked gateway. */
  gatewayPid: number;
  /** Processes that ended unexpectedly. */
  deaths: readonly string[];
  /** Folder of the logs; removed by `close`. */
  folder: string;
  /** Creates an account with a subscription that limits nothing. */
  account(name: string): Promise<TargetAccount>;
  close(): Promise<void>;
}

export interface TargetAccount {
  accountId: number;
  email: string;
  key: string;
}

export const TARGET_ADMIN_TOKEN = 'only-for-the-operator-of-the-target';

/** @param options `programs` is the folder of the compiled programs; `env` is added to the settings of all processes. */
export async function openTarget(options: {
  programs: string;
  databaseUrl: string;
  redisUrl: string;
  redisNamespace?: string;
  env?: Record<string, string>;
  providerEnv?: Record<string, string>;
}): Promise<Target> {
  const { programs, databaseUrl, redisUrl, redisNamespace = 'souk' } = options;
  const folder = await mkdtemp(join(tmpdir(), 'souk-target-'));
  await chmod(folder, 0o755);
  const deaths: string[] = [];
  const undo: (() => Promise<void>)[] = [() => rm(folder, { recursive: true, force: true })];
  const close = async () => {
    for (const step of undo.splice(0).reverse()) await step();
  };
  const start = async (name: string, file: string, env: Record<string, string>) => {
    const logFile = join(folder, `${name.replace(' ', '-')}.log`);
    const onSurprise = (sentence: string) => deaths.push(sentence);
    const program = await startProgram({ name, file: join(programs, file), env, logFile, onSurprise });
    undo.push(async () => void (await program.stop()));
    return program;
  };
  try {
    const database = openDatabase(databaseUrl, createLogger('silent'));
    undo.push(() => database.end());
    const provider = await start('provider', 'demo/main.js', {
      DEMO_TOKENS_PER_MINUTE: '1000000000',
      DEMO_LIGHTNING_DEALS: '20',
      ...options.providerEnv,
    });
    const env = {
      DATABASE_URL: databaseUrl,
      REDIS_URL: redisUrl,
      REDIS_NAMESPACE: redisNamespace,
      KEEPA_BASE_URL: provider.ready,
      TRENDS_BASE_URL: provider.ready,
      KEEPA_API_KEY: 'target-target-target',
      ADMIN_TOKEN: TARGET_ADMIN_TOKEN,
      PAYMENTS: 'demo',
      LOG_LEVEL: 'warn',
      // Clients choose their addresses, so that limits by address do not end a run.
      TRUST_PROXY: 'loopback',
      WEBHOOK_ALLOW_PRIVATE: 'true',
      ...options.env,
    };
    const ports = [await freePort(), await freePort()];
    const [, gateway, calm] = await Promise.all([
      start('worker', 'workers/main.js', env),
      start('gateway', 'src/main.js', { ...env, PORT: String(ports[0]) }),
      start('calm gateway', 'src/main.js', { ...env, PORT: String(ports[1]) }),
    ]);
    await untilReady(calm.ready);
    return {
      database,
      deaths,
      folder,
      close,
      gateway: gateway.ready,
      calmGateway: calm.ready,
      gatewayPid: gateway.pid(),
      account: (name) => createAccount(database, name),
    };
  } catch (error) {
    await close();
    throw error;
  }
}

/** Waits for a worker, because a gateway without workers refuses calls. */
async function untilReady(gateway: string): Promise<void> {
  for (let attempt = 1; ; attempt += 1) {
    const response = await fetch(`${gateway}/readyz`);
    const text = await response.text();
    if (response.ok) return;
    if (attempt === 100) throw new Error(`the gateway is not ready: ${text}`);
    await pause(100);
  }
}

async function createAccount(database: Database, name: string): Promise<TargetAccount> {
  const now = Date.now();
  const email = `${name}@target.example`;
  const accountId = await ensureAccount(database, email, name, now);
  const unlimited = { minuteLimit: null, dailyLimit: null, monthlyLimit: null };
  const planId = await upsertPlan(database, { code: 'target', name: 'Target', ...unlimited });
  await grantSubscription(database, {
    accountId,
    planId,
    wallet: 'general',
    quantity: 1,
    startsAt: new Date(now - DAY_MS),
    endsAt: new Date(now + 30 * DAY_MS),
  });
  return { accountId, email, key: await createKey(database, accountId, now) };
}
