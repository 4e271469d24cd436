import { randomBytes } from 'node:crypto';
import { expect, inject } from 'vitest';
import type { Providers } from '../../src/operations/pools.ts';
import type { Client } from '../support/client.ts';
import { createTestDatabase } from '../support/database.ts';
import { csvReport, load, ranked } from '../support/reports.ts';
import { openSouk, type Souk, showLogOnFailure } from '../support/souk.ts';
import { test } from '../support/souk-test.ts';

const DEMO: Providers = { products: 'demo', trends: 'demo', reports: 'demo' };
const WEEK = '2026-02-28';

/** The requests of a customer, which are sent with both providers. */
const QUESTIONS = {
  product: (client: Client) => client.get('/api/market/product?country=us&asins=B08N5WRWNX&update=100'),
  category: (client: Client) => client.get('/api/market/category?country=us&category=0'),
  trends: (client: Client) => client.post('/api/webtrends/interest-over-time', { keyword: 'tent' }),
  rank: (client: Client) => client.get('/api/aba/rank?country=us'),
  search: (client: Client) => client.get('/api/aba/search?country=us&keyword=tent'),
  word: (client: Client) => client.get('/api/aba/word/33'),
  reverse: (client: Client) => client.post('/api/aba/asin-reverse', { asins: ['B08N5WRWNX'] }),
};

async function askAll(client: Client) {
  const asked = Object.entries(QUESTIONS).map(async ([name, ask]) => [name, await ask(client)] as const);
  return Object.fromEntries(await Promise.all(asked)) as Record<
    keyof typeof QUESTIONS,
    Awaited<ReturnType<Client['get']>>
  >;
}

/** Reports as `npm start` loads them. */
async function loadDemoReport({ database }: Souk): Promise<void> {
  const product = [['B08N5WRWNX', 'Invented tent', '50', '50']] as [string, string, string, string][];
  const report = csvReport(WEEK, [{ term: 'invented tent', rank: 1, products: product }]);
  await load(database, 'us', report, WEEK, DEMO.reports);
}

/** The tokens of the provider, as operators see them; undefined if they are unknown. */
async function tokensOf(client: Client): Promise<string | undefined> {
  return /^souk_upstream_tokens_left\{provider_account="main"\} (\S+)$/m.exec(
    (await client.raw('/metrics')).text,
  )?.[1];
}

test('shows nothing of the demo provider after a restart with another', async ({ demo, onTestFinished }) => {
  const stores = await createTestDatabase();
  const shared = {
    servers: { databaseUrl: stores.url, redisUrl: inject('redisUrl') },
    redisNamespace: `test-${randomBytes(6).toString('hex')}`,
  };
  const demoOptions = { ...shared, upstreamUrl: demo.url, providers: DEMO };
  const first = await openSouk(demoOptions);
  const { key } = await first.account();
  await loadDemoReport(first);
  const client = first.clientOf(key);
  const before = await askAll(client);
  expect(Object.values(before).map(({ status }) => status)).toEqual([200, 200, 200, 200, 200, 200, 200]);
  expect(before.product.json.data.products[0].asin).toBe('B08N5WRWNX');
  expect(before.rank.json.data.rows).toHaveLength(1);
  expect(await tokensOf(client)).toBeDefined();
  await first.close();

  const second = await openSouk(shared);
  const other = second.clientOf(key);
  expect(await tokensOf(other)).toBeUndefined();
  const after = await askAll(other);
  expect(after.product.headers['x-cache']).toBe('MISS');
  expect(after.product.headers['x-units-consumed']).toBe('1');
  expect(after.product.json.data.products).not.toEqual(before.product.json.data.products);
  expect([after.category.status, after.trends.status]).toEqual([502, 502]);
  expect(after.rank.json.msg).toContain('no report is loaded for us yet');
  expect(after.search.json.data.items).toEqual([]);
  expect(after.word.json.code).toBe('WORD_NOT_FOUND');
  expect(after.reverse.json.data.items[0].keywords).toEqual([]);
  expect((await other.get('/api/aba/countries')).text).not.toContain(WEEK);

  // The first report of the other provider takes the place of those of the demo.
  await load(second.database, 'us', csvReport('2026-03-07', ranked('real tent')));
  const { rows } = (await other.get('/api/aba/rank?country=us')).json.data;
  expect(rows).toEqual([expect.objectContaining({ keyword: 'real tent', lastRank: null })]);
  expect((await other.get('/api/aba/search?country=us&keyword=invented')).json.data.items).toEqual([]);
  await second.close();

  const third = await openSouk(demoOptions);
  const again = await QUESTIONS.product(third.clientOf(key));
  expect(again.json.data.products).toEqual(before.product.json.data.products);
  expect(again.headers['x-cache']).toBe('HIT');
  expect((await third.clientOf(key).get('/api/aba/countries')).text).not.toContain('2026-03-07');
  await expect(loadDemoReport(third)).rejects.toThrow(
    'The database holds reports of the provider amazon, which do not mix with those of demo.',
  );
  await third.close();
  onTestFinished(stores.drop);
});

test('deletes the reports of the demo after a restart with another provider', async ({ souk }) => {
  showLogOnFailure(souk);
  await loadDemoReport(souk);
  const counted = `select (select count(*) from aba_weeks) + (select count(*) from aba_terms) +
    (select count(*) from aba_products) + (select count(*) from aba_ranks) as rows`;
  await expect
    .poll(async () => {
      // A busy table is tried again a minute later.
      souk.clock.advance(60_000);
      return (await souk.database.query(counted)).rows[0].rows;
    })
    .toBe(0);
});
