import { createServer } from 'node:net';
import { join } from 'node:path';
import { expect, inject, onTestFinished } from 'vitest';
import { freePort } from '../../src/platform/embedded/server-process.ts';
import { createTestDatabase } from '../support/database.ts';
import { copyMigratedPostgres } from '../support/postgres-template.ts';
import { processesWith } from '../support/processes.ts';
import { test as base } from '../support/souk-test.ts';
import { createDataDir, start } from '../support/start.ts';

// One refusal for each step of a start; check-services.test.ts has the other reasons.
const test = base.extend('services', { scope: 'file' }, async ({ demo }, { onCleanup }) => {
  const [dataDir, database] = [await createDataDir(), await createTestDatabase()];
  onCleanup(async () => {
    await database.drop();
    await dataDir.remove();
  });
  return {
    SOUK_DATA_DIR: dataDir.path,
    PORT: '0',
    DATABASE_URL: database.url,
    REDIS_URL: inject('redisUrl'),
    REDIS_NAMESPACE: 'test-refusals',
    KEEPA_BASE_URL: demo.url,
    KEEPA_API_KEY: 'a-key-of-sixteen-or-more',
  };
});

/** Starts with these settings: the program must print one sentence, end with code 1 and leave no process behind. */
async function refusal(settings: Record<string, string>): Promise<string> {
  const attempt = start(settings);
  expect(await attempt.ended).toBe(1);
  await expect.poll(() => processesWith(settings.SOUK_DATA_DIR ?? ''), { timeout: 120_000 }).toEqual([]);
  const said = attempt.said();
  expect(said).not.toContain('Souk ready');
  expect(said.trim().split('\n')).toHaveLength(1);
  expect(said).not.toMatch(/ {4}at /);
  return said;
}

test('refuses KEEPA_BASE_URL without a key', async ({ services }) => {
  expect(await refusal({ ...services, KEEPA_API_KEY: '' })).toMatch(
    /^KEEPA_BASE_URL is set, but KEEPA_API_KEY is not\. .+\.\n$/,
  );
});

test('refuses a KEEPA_API_KEY that the provider rejects, and does not print it', async ({ services }) => {
  const key = 'unpaid-key-unpaid-key';
  const said = await refusal({ ...services, KEEPA_API_KEY: key });
  expect(said).toMatch(/^KEEPA_API_KEY is not accepted by \S+ \(HTTP 40[02]\)\.\n$/);
  expect(said).not.toContain(key);
});

test('stops its PostgreSQL when REDIS_URL is wrong', { timeout: 300_000 }, async ({ services }) => {
  const { DATABASE_URL: _, ...rest } = services;
  // Faster than a database folder that the program makes.
  await copyMigratedPostgres(join(services.SOUK_DATA_DIR, 'postgres'));
  const attempt = start({ ...rest, REDIS_URL: `redis://127.0.0.1:${await freePort()}` });
  expect(await attempt.ended).toBe(1);
  expect(attempt.said()).toMatch(/^REDIS_URL does not lead to a usable Redis: .+\.\n$/);
  expect(await processesWith(services.SOUK_DATA_DIR)).toEqual([]);
});

test('refuses a PORT that is in use', { timeout: 300_000 }, async ({ services }) => {
  const other = createServer();
  onTestFinished(() => void other.close());
  await new Promise<void>((done) => other.listen(0, '127.0.0.1', done));
  const { port } = other.address() as { port: number };
  expect(await refusal({ ...services, PORT: String(port) })).toBe(
    `The gateway cannot start: PORT ${port} is in use on 127.0.0.1; set another PORT.\n`,
  );
});
