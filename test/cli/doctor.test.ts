import pg from 'pg';
import { afterAll, beforeAll, expect, inject, onTestFinished, test } from 'vitest';
import { ensureAccount } from '../../src/accounts/accounts.ts';
import { freePort } from '../../src/platform/embedded/server-process.ts';
import { startCacheRedis } from '../support/cache-redis.ts';
import { createTestDatabase } from '../support/database.ts';
import { type Demo, openDemo } from '../support/demo-provider.ts';
import { type SoukCommand, soukCommand } from '../support/souk-command.ts';

let database: Awaited<ReturnType<typeof createTestDatabase>>;
let demo: Demo;
let command: SoukCommand;
beforeAll(async () => {
  database = await createTestDatabase();
  demo = await openDemo();
  command = soukCommand({
    DATABASE_URL: database.url,
    REDIS_URL: inject('redisUrl'),
    SOUK_DATA_DIR: '/nonexistent/souk',
    KEEPA_BASE_URL: demo.url,
    KEEPA_API_KEY: 'a-key-of-sixteen-or-more',
  });
});
afterAll(async () => {
  await demo.close();
  await database.drop();
});

/** State of each check, with the exit code. */
async function diagnosis(settings: Record<string, string> = {}): Promise<{
  code: number | null;
  states: Record<string, string>;
  messages: Record<string, string>;
}> {
  const { code, stdout, stderr } = await command.run('doctor --json', settings);
  expect(stderr).toBe('');
  const { ok, checks } = JSON.parse(stdout) as {
    ok: boolean;
    checks: { name: string; state: string; message: string }[];
  };
  expect(ok).toBe(code === 0);
  return {
    code,
    states: Object.fromEntries(checks.map(({ name, state }) => [name, state])),
    messages: Object.fromEntries(checks.map(({ name, message }) => [name, message])),
  };
}

const WELL = {
  settings: 'ok',
  PostgreSQL: 'ok',
  migrations: 'ok',
  books: 'ok',
  Redis: 'ok',
  'Redis memory': 'ok',
  // The Redis of the tests has no persistence.
  'Redis persistence': 'warning',
  'Redis compression': 'ok',
  'data provider': 'ok',
};

test('prints one line for each check and exits with 0 if no check failed', async () => {
  expect(await diagnosis()).toMatchObject({ code: 0, states: WELL });
  const { code, stdout, stderr } = await command.run('doctor');
  expect([code, stderr]).toEqual([0, '']);
  const lines = stdout.trimEnd().split('\n');
  expect(lines).toHaveLength(Object.keys(WELL).length);
  expect(lines.filter((line) => !/^(ok|warning) +[A-Za-z ]+: \S/.test(line))).toEqual([]);
});

test('checks nothing else if a setting is invalid', async () => {
  expect(await diagnosis({ PORT: 'x' })).toMatchObject({ code: 1, states: { settings: 'failed' } });
});

test.each([
  ['MAIL_FROM is set: set PUBLIC_URL', { MAIL_FROM: 'souk@souk.example' }],
  ['MAIL_FROM is set: set SMTP_URL', { MAIL_FROM: 'souk@souk.example', PUBLIC_URL: 'https://souk.example' }],
  ['PAYMENTS is stripe: set STRIPE_SECRET_KEY', { PAYMENTS: 'stripe' }],
  ['ALERT_MAIL is set: set MAIL_FROM', { ALERT_MAIL: 'ops@souk.example' }],
  ['LIMITS: LEDGER_KEPT_MONTHS must be', { LIMITS: '{"LEDGER_KEPT_MONTHS": 12, "CALLS_KEPT_MONTHS": 24}' }],
  ['Not set: SP_API_CLIENT_ID', { ABA_FETCH_COUNTRIES: 'us' }],
])('refuses settings with which a process does not start: %s', async (message, settings) => {
  const { code, states, messages } = await diagnosis(settings);
  expect([code, states]).toEqual([1, { ...WELL, settings: 'failed' }]);
  expect(messages.settings).toContain(message);
});

test('names each service that cannot be reached, and omits the checks that need it', async () => {
  const nowhere = `127.0.0.1:${await freePort()}`;
  const { code, states, messages } = await diagnosis({
    DATABASE_URL: `postgresql://user:pa55word@${nowhere}/souk`,
    REDIS_URL: `redis://:pa55word@${nowhere}`,
    KEEPA_BASE_URL: `http://${nowhere}`,
  });
  expect(code).toBe(1);
  expect(states).toEqual({
    settings: 'ok',
    PostgreSQL: 'failed',
    Redis: 'failed',
    'data provider': 'failed',
  });
  expect(messages.PostgreSQL).toMatch(/^DATABASE_URL /);
  expect(messages.Redis).toMatch(/^REDIS_URL /);
  expect(messages['data provider']).toMatch(/^KEEPA_BASE_URL /);
  expect(JSON.stringify(messages)).not.toContain('pa55word');
});

test('names the provider of single sign-on that cannot be reached', async () => {
  const { code, states, messages } = await diagnosis({
    OIDC_ISSUER: `http://127.0.0.1:${await freePort()}`,
    OIDC_CLIENT_ID: 'souk',
    OIDC_CLIENT_SECRET: 'pa55word',
    PUBLIC_URL: 'https://souk.example',
  });
  expect([code, states]).toEqual([1, { ...WELL, 'single sign-on': 'failed' }]);
  expect(messages['single sign-on']).toMatch(/^OIDC_ISSUER cannot be used: .*ECONNREFUSED/);
  expect(JSON.stringify(messages)).not.toContain('pa55word');
});

test('names promises that an audit of the books has found broken', async () => {
  const books = new pg.Pool({ connectionString: database.url, max: 1 });
  onTestFinished(() => books.end());
  const accountId = await ensureAccount(books, 'books@test.example', 'Books', Date.now());
  await books.query(
    `insert into book_faults (account_id, promise, faults, row, found_at, seen_at) values ($1, 'units add up', 1, '{}', now(), now())`,
    [accountId],
  );
  const { code, states, messages } = await diagnosis();
  await books.query('delete from book_faults');
  expect([code, states]).toEqual([1, { ...WELL, books: 'failed' }]);
  expect(messages.books).toMatch(`not kept: units add up (account ${accountId})`);
});

test('warns where the key of the data provider is not set, as in a gateway, whose settings are valid without those of workers', async () => {
  const { code, states, messages } = await diagnosis({
    KEEPA_API_KEY: '',
    MAIL_FROM: 'souk@souk.example',
    PUBLIC_URL: 'https://souk.example',
  });
  expect([code, states]).toEqual([0, { ...WELL, 'data provider': 'warning' }]);
  expect(messages['data provider']).toMatch(/^KEEPA_API_KEY is not set.* Run this where workers run/);
});

test('names each setting that is missing', async () => {
  const { code, messages } = await diagnosis({ DATABASE_URL: '', REDIS_URL: '', KEEPA_API_KEY: '' });
  expect(code).toBe(1);
  expect(messages.PostgreSQL).toMatch(/^DATABASE_URL is not set/);
  expect(messages.Redis).toMatch(/^REDIS_URL is not set/);
  expect(messages['data provider']).toMatch(/^KEEPA_API_KEY is not set/);
});

test('reports a key that the provider refuses, without printing it', async () => {
  const { code, states, messages } = await diagnosis({ KEEPA_API_KEY: 'unpaid-key-unpaid-key' });
  expect([code, states]).toEqual([1, { ...WELL, 'data provider': 'failed' }]);
  expect(messages['data provider']).toMatch(/^KEEPA_API_KEY is not accepted/);
  expect(messages['data provider']).not.toContain('unpaid-key');
});

test('advises against compressing the file of Redis, unless the server does not show its settings', async () => {
  const redis = await startCacheRedis();
  onTestFinished(() => redis.close());
  await redis.redis.config('SET', 'rdbcompression', 'yes');
  await redis.redis.config('SET', 'maxmemory-policy', 'noeviction');
  const compressing = await diagnosis({ REDIS_URL: redis.url });
  expect([compressing.code, compressing.states]).toEqual([0, { ...WELL, 'Redis compression': 'warning' }]);
  expect(compressing.messages['Redis compression']).toMatch(/^rdbcompression is yes, .* Set it to no/);
  // Hosted Redis often forbids CONFIG.
  await redis.redis.acl('SETUSER', 'default', '-config');
  const secretive = await diagnosis({ REDIS_URL: redis.url });
  expect([secretive.code, secretive.states]).toEqual([0, WELL]);
  expect(secretive.messages['Redis compression']).toMatch(/^not known, /);
});

test('checks a Redis of cached data, which should evict', async () => {
  const { code, states, messages } = await diagnosis({ CACHE_REDIS_URL: inject('redisUrl') });
  expect([code, states]).toEqual([0, { ...WELL, 'cache Redis': 'ok', 'cache Redis memory': 'warning' }]);
  expect(messages['cache Redis memory']).toMatch(/^maxmemory is not set/);
  const nowhere = await diagnosis({ CACHE_REDIS_URL: `redis://127.0.0.1:${await freePort()}` });
  expect([nowhere.code, nowhere.states]).toEqual([1, { ...WELL, 'cache Redis': 'failed' }]);
  expect(nowhere.messages['cache Redis']).toMatch(/^CACHE_REDIS_URL /);
});

test('names the migrations that are missing', async () => {
  const behind = await createTestDatabase();
  const client = new pg.Client({ connectionString: behind.url });
  await client.connect();
  await client.query("delete from migrations where name like '0003%'");
  const { books: _, ...others } = WELL;
  expect(await diagnosis({ DATABASE_URL: behind.url })).toMatchObject({
    code: 1,
    states: { ...others, migrations: 'failed' },
    messages: { migrations: '0003_calls not applied. Run `npm run migrate`.' },
  });
  await client.query('drop table migrations');
  expect((await diagnosis({ DATABASE_URL: behind.url })).messages.migrations).toMatch(/^0001_accounts, 0002/);
  await client.end();
  await behind.drop();
});
