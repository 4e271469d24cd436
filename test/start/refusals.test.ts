import { createServer } from 'node:net';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { freePort } from '../../src/platform/embedded/server-process.ts';
import { createTestDatabase } from '../support/database.ts';
import { type Demo, openDemo } from '../support/demo-provider.ts';
import { processesWith } from '../support/processes.ts';
import { createDataDir, start } from '../support/start.ts';

let dataDir: Awaited<ReturnType<typeof createDataDir>>;
let database: Awaited<ReturnType<typeof createTestDatabase>>;
let demo: Demo;
let services: Record<string, string>;
beforeAll(async () => {
  dataDir = await createDataDir();
  database = await createTestDatabase();
  demo = await openDemo();
  services = {
    SOUK_DATA_DIR: dataDir.path,
    PORT: '0',
    DATABASE_URL: database.url,
    REDIS_URL: inject('redisUrl'),
    REDIS_NAMESPACE: 'test-refusals',
    KEEPA_BASE_URL: demo.url,
    KEEPA_API_KEY: 'a-key-of-sixteen-or-more',
  };
});
afterAll(async () => {
  await demo.close();
  await database.drop();
  await dataDir.remove();
});

/** Starts with one setting that is wrong: it must say so in a sentence, end with code 1, and leave nothing behind. */
async function refusal(wrong: Record<string, string>): Promise<string> {
  const attempt = start({ ...services, ...wrong });
  expect(await attempt.ended).toBe(1);
  await expect.poll(() => processesWith(dataDir.path), { timeout: 120_000 }).toEqual([]);
  const said = attempt.said();
  expect(said).not.toContain('Souk ready');
  expect(said.trim().split('\n')).toHaveLength(1);
  expect(said).not.toMatch(/ {4}at /);
  return said;
}

function changed(address: string, change: (url: URL) => void): string {
  const url = new URL(address);
  change(url);
  return url.href;
}

const nobodyListens = async () => `127.0.0.1:${await freePort()}`;

test.each([
  ['DATABASE_URL', 'not an address'],
  ['REDIS_URL', '127.0.0.1:6379'],
  ['KEEPA_BASE_URL', 'keepa'],
  ['PORT', 'three thousand'],
])('%s=%s is no such thing', async (name, value) => {
  expect(await refusal({ [name]: value })).toMatch(new RegExp(`^Bad setting: ${name} .+\\.\\n$`));
});

test('KEEPA_BASE_URL without a key', async () => {
  expect(await refusal({ KEEPA_API_KEY: '' })).toMatch(
    /^KEEPA_BASE_URL is set, but KEEPA_API_KEY is not: .+\.\n$/,
  );
});

test('DATABASE_URL where nobody listens', async () => {
  const said = await refusal({ DATABASE_URL: `postgresql://user:pa55word@${await nobodyListens()}/souk` });
  expect(said).toMatch(/^DATABASE_URL does not lead to a usable PostgreSQL: .*ECONNREFUSED.*\.\n$/);
  expect(said).not.toContain('pa55word');
});

test('DATABASE_URL with a wrong password', async () => {
  const wrong = changed(database.url, (url) => {
    url.password = 'pa55word';
  });
  const said = await refusal({ DATABASE_URL: wrong });
  expect(said).toMatch(/^DATABASE_URL does not lead to a usable PostgreSQL: password authentication failed/);
  expect(said).not.toContain('pa55word');
});

test('DATABASE_URL of a database that does not exist', async () => {
  const wrong = changed(database.url, (url) => {
    url.pathname = '/nowhere';
  });
  expect(await refusal({ DATABASE_URL: wrong })).toMatch(
    /^DATABASE_URL does not lead to a usable PostgreSQL: database "nowhere" does not exist\.\n$/,
  );
});

test('REDIS_URL where nobody listens', async () => {
  expect(await refusal({ REDIS_URL: `redis://${await nobodyListens()}` })).toMatch(
    /^REDIS_URL does not lead to a usable Redis: .*ECONNREFUSED.*\.\n$/,
  );
});

test('REDIS_URL without the password Redis wants', async () => {
  const wrong = changed(inject('redisUrl'), (url) => {
    url.password = '';
  });
  expect(await refusal({ REDIS_URL: wrong })).toMatch(
    /^REDIS_URL does not lead to a usable Redis: NOAUTH .*\.\n$/,
  );
});

test('REDIS_URL with a wrong password', async () => {
  const wrong = changed(inject('redisUrl'), (url) => {
    url.password = 'pa55word';
  });
  const said = await refusal({ REDIS_URL: wrong });
  expect(said).toMatch(/^REDIS_URL does not lead to a usable Redis: WRONGPASS .*\.\n$/);
  expect(said).not.toContain('pa55word');
});

test('REDIS_URL of something that is not Redis', async () => {
  expect(await refusal({ REDIS_URL: demo.url.replace('http:', 'redis:') })).toMatch(
    /^REDIS_URL does not lead to a usable Redis: .+\.\n$/,
  );
});

test('KEEPA_BASE_URL where nobody listens', async () => {
  const url = `http://${await nobodyListens()}`;
  expect(await refusal({ KEEPA_BASE_URL: url })).toMatch(
    new RegExp(`^KEEPA_BASE_URL ${url} cannot be reached: .+\\.\\n$`),
  );
});

test('KEEPA_BASE_URL of something else', async () => {
  expect(await refusal({ KEEPA_BASE_URL: `${demo.url}/elsewhere` })).toMatch(
    /^KEEPA_BASE_URL \S+ answers with HTTP 404; is it a product data provider\?\n$/,
  );
});

test.each(['too-short', 'unpaid-key-unpaid-key'])('KEEPA_API_KEY %s', async (key) => {
  const said = await refusal({ KEEPA_API_KEY: key });
  expect(said).toMatch(/^KEEPA_API_KEY is not accepted by \S+ \(HTTP 40[02]\)\.\n$/);
  expect(said).not.toContain(key);
});

test('a wrong REDIS_URL ends the PostgreSQL that was started before it', { timeout: 300_000 }, async () => {
  const { DATABASE_URL: _, ...rest } = services;
  const attempt = start({ ...rest, REDIS_URL: `redis://${await nobodyListens()}` });
  expect(await attempt.ended).toBe(1);
  expect(attempt.said()).toMatch(/^REDIS_URL does not lead to a usable Redis: .+\.\n$/);
  expect(await processesWith(dataDir.path)).toEqual([]);
});

test('a PORT that is taken', { timeout: 300_000 }, async () => {
  const squatter = createServer();
  await new Promise<void>((done) => squatter.listen(0, '127.0.0.1', done));
  const { port } = squatter.address() as { port: number };
  expect(await refusal({ PORT: String(port) })).toBe(
    `The gateway cannot start: PORT ${port} is in use on 127.0.0.1; set PORT to another.\n`,
  );
  squatter.close();
});
