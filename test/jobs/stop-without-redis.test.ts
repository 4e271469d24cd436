import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { type ExpectStatic, inject } from 'vitest';
import { databaseClock } from '../../src/platform/db/pool.ts';
import { redisKeys } from '../../src/platform/redis-keys.ts';
import { knowsEveryProduct } from '../support/answers.ts';
import { expectBalancesOfLedger } from '../support/balances.ts';
import { type OwnServers, openOwnServers } from '../support/own-servers.ts';
import { asins } from '../support/parameters.ts';
import { gate } from '../support/scripted-upstream.ts';
import { type Program, startProgram } from '../support/soak/program.ts';
import type { Souk } from '../support/souk.ts';
import { test as base } from '../support/souk-test.ts';
import { openCalls } from '../support/workers.ts';

/** Starts a gateway or a worker as a process of its own, on the stores of a service. */
type StartProcess = (file: string, souk: Souk) => Promise<{ program: Program; log(): Promise<string> }>;

// The limits are those of connections, so the test uses real time and stops a real server.
const test = base
  .extend('servers', async ({}, { onCleanup }): Promise<OwnServers> => {
    const servers = await openOwnServers();
    onCleanup(() => servers.close());
    return servers;
  })
  .extend('startProcess', async ({}, { onCleanup }): Promise<StartProcess> => {
    const folder = await mkdtemp(join(tmpdir(), 'souk-processes-'));
    const started: Program[] = [];
    onCleanup(async () => {
      for (const program of started) await program.kill();
      await rm(folder, { recursive: true, force: true });
    });
    return async (file, souk) => {
      const logFile = join(folder, `${file.replace('/', '-')}.log`);
      const program = await startProgram({
        name: file,
        file: join(inject('programs'), file),
        logFile,
        onSurprise: () => {},
        env: {
          DATABASE_URL: souk.databaseUrl,
          REDIS_URL: souk.redisUrl,
          REDIS_NAMESPACE: souk.redisNamespace,
          KEEPA_BASE_URL: souk.upstream.url,
          KEEPA_API_KEY: 'operators-own-upstream-key',
          PORT: '0',
          TEST_MODE: 'off',
        },
      });
      started.push(program);
      return { program, log: () => readFile(logFile, 'utf8') };
    };
  });

/** Large jobs run in a thread, which has its own connections. */
const PRODUCTS = { 'a job': 3, 'a large job': 20 };

/** Resolves when the worker has said that it stops: it counts no longer as one that serves the pool. */
async function hasBegunToStop({ redisUrl, redisNamespace }: Souk, expect: ExpectStatic): Promise<void> {
  const redis = new Redis(redisUrl);
  await expect.poll(() => redis.zcard(redisKeys(redisNamespace).workers('market'))).toBe(0);
  redis.disconnect();
}

// Most of their time is that of the limits, so they run at the same time.
test.concurrent.for([
  ['a job', 'killed', 'before they are stopped'],
  ['a large job', 'frozen', 'before they are stopped'],
  ['a large job', 'killed', 'while the worker stops'],
  ['a job', 'frozen', 'while the worker stops'],
] as const)(
  'a gateway and a worker with %s whose Redis is %s %s end with code 0, and another worker ends the job once',
  { timeout: 300_000 },
  async ([job, outage, when], { openAnother, servers, startProcess, expect }) => {
    const souk = await openAnother({ servers, clock: databaseClock(), workers: 0 });
    const [worker, gateway] = [
      await startProcess('workers/main.js', souk),
      await startProcess('src/main.js', souk),
    ];
    await souk.gateways[0]?.sampleBacklog();
    const { accountId, key } = await souk.account();
    const { reached, open: release } = gate();
    souk.upstream.on('product', async (...call) => {
      await reached;
      return knowsEveryProduct(...call);
    });
    const units = PRODUCTS[job];
    const path = `/api/market/product?domain=1&asins=${asins(units).join()}`;
    const reply = souk.clientOf(key).get(path);
    await souk.upstream.received(1, 'product');
    const [{ id }] = (await souk.database.query('select id from calls')).rows as [{ id: string }];

    const breakRedis = () => (outage === 'killed' ? servers.killRedis() : servers.freeze('redis'));
    if (when === 'before they are stopped') await breakRedis();
    const stopped = worker.program.stop();
    if (when === 'while the worker stops') {
      await hasBegunToStop(souk, expect);
      await breakRedis();
    }
    expect([await stopped, await gateway.program.stop()]).toEqual([0, 0]);
    const left = (await worker.log())
      .split('\n')
      .filter((line) => line.includes('stopping without Redis'))
      .map((line) => JSON.parse(line).callIds);
    expect(left).toEqual([[id]]);

    if (outage === 'killed') await servers.restartRedis();
    else servers.thaw();
    release();
    await expect.poll(() => souk.addWorker().catch(() => null)).not.toBeNull();
    await expect.poll(() => openCalls(souk), { timeout: 200_000 }).toBe(0);
    // If it took long, it has the job instead of the answer.
    expect([200, 202]).toContain((await reply).status);
    const { rows } = await souk.database.query('select kind, units from ledger order by id');
    expect(rows).toEqual([
      { kind: 'reserve', units },
      { kind: 'settle', units },
    ]);
    await expectBalancesOfLedger({ database: souk.database, clock: { now: Date.now } }, accountId);
  },
);
