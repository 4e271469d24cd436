import { join } from 'node:path';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { openDatabase } from '../../src/platform/db/pool.ts';
import { freePort } from '../../src/platform/embedded/server-process.ts';
import { createLogger } from '../../src/platform/log.ts';
import { connectRedis } from '../../src/platform/redis.ts';
import { ensureDemoAccount } from '../../src/start/demo-account.ts';
import { createClient } from '../support/client.ts';
import { createTestDatabase } from '../support/database.ts';
import { killProcessesWith, processesWith } from '../support/processes.ts';
import { openScriptedUpstream, type ScriptedUpstream } from '../support/scripted-upstream.ts';
import { createDataDir, type Start, start } from '../support/start.ts';

const OPERATORS_KEY = 'key-of-the-operator';

let dataDir: Awaited<ReturnType<typeof createDataDir>>;
let database: Awaited<ReturnType<typeof createTestDatabase>>;
let upstream: ScriptedUpstream;
let running: Start;
beforeAll(async () => {
  dataDir = await createDataDir();
  database = await createTestDatabase();
  upstream = await openScriptedUpstream();
});
afterAll(async () => {
  await killProcessesWith(dataDir.path);
  await upstream.close();
  await database.drop();
  await dataDir.remove();
});

test('uses the services of the settings, and leaves them running', { timeout: 300_000 }, async () => {
  upstream.on('token', () => ({ json: {} }));
  upstream.on('product', ({ params }) => ({
    json: { products: [{ asin: params.asin, domainId: 1, productType: 0, title: 'From outside', csv: [] }] },
  }));
  const port = await freePort();
  running = start({
    SOUK_DATA_DIR: dataDir.path,
    PORT: String(port),
    DATABASE_URL: database.url,
    REDIS_URL: inject('redisUrl'),
    REDIS_NAMESPACE: 'test-external',
    KEEPA_BASE_URL: `${upstream.url}/`,
    KEEPA_API_KEY: OPERATORS_KEY,
  });
  await running.line(new RegExp(`^Souk ready: http://127\\.0\\.0\\.1:${port}$`, 'm'));
  expect(Object.keys(await running.children()).sort()).toEqual(['gateway', 'worker']);

  const log = createLogger('silent');
  const pool = openDatabase(database.url, log, { max: 1 });
  const key = await ensureDemoAccount(pool, join(dataDir.path, 'customer-key'), Date.now());
  const reply = await createClient(`http://127.0.0.1:${port}`, key).get(
    '/api/market/product?domain=1&asins=B0AA11BB22',
  );
  expect(reply.json.data.products[0]).toMatchObject({ title: 'From outside' });
  expect(upstream.callsTo('product').map(({ params }) => params.key)).toEqual([OPERATORS_KEY]);

  running.interrupt();
  expect(await running.ended).toBe(0);
  expect(running.said()).not.toContain('Demo key');
  expect(running.said()).not.toContain('Operator console');
  expect(running.said()).not.toContain(OPERATORS_KEY);
  expect(await processesWith(dataDir.path)).toEqual([]);

  expect((await pool.query('select count(*)::int as calls from calls')).rows).toEqual([{ calls: 1 }]);
  await pool.end();
  const redis = await connectRedis(inject('redisUrl'), 'serving', log);
  expect(await redis.ping()).toBe('PONG');
  redis.disconnect();
  upstream.on('token', () => ({ json: { still: 'there' } }));
  expect(await (await fetch(`${upstream.url}/token`)).json()).toMatchObject({ still: 'there' });
});
