import { expect } from 'vitest';
import { knowsEveryProduct } from '../support/answers.ts';
import type { Client } from '../support/client.ts';
import { csvReport, jsonReport, load, REPORTS, reportEntry } from '../support/reports.ts';
import type { Souk } from '../support/souk.ts';
import { test } from '../support/souk-test.ts';

const WEEK = '2026-02-28';

/** Two of three products of a term are known; two of them have the same brand. */
const REPORT = jsonReport(WEEK, [
  reportEntry('kettle', 1, 1),
  reportEntry('kettle', 1, 2),
  reportEntry('kettle', 1, 3),
  reportEntry('tent', 2, 1, { clickedAsin: 'B0UNKNOWN0' }),
]);

const LABELS: Record<string, object> = {
  B0ENTRY001: {
    brand: 'Lumio',
    categoryTree: [
      { catId: 1, name: 'Kitchen' },
      { catId: 2, name: 'Kettles' },
    ],
  },
  B0ENTRY002: { brand: 'Lumio', categoryTree: null },
  // Not a name.
  B0UNKNOWN0: { brand: '', categoryTree: [{ name: 7 }] },
};

/** Looks up the products, and waits until their labels are stored. */
async function lookUp({ upstream, clock, database }: Souk, client: Client): Promise<void> {
  upstream.on('product', async (...call) => {
    const answer = (await knowsEveryProduct(...call)) as { json: { products: { asin: string }[] } };
    const products = answer.json.products.map((product) => ({ ...product, ...LABELS[product.asin] }));
    return { json: { products } };
  });
  const { status } = await client.get(
    `/api/market/product?country=uk&asins=${Object.keys(LABELS).join(',')}&detailLevel=summary`,
  );
  expect(status).toBe(200);
  await expect
    .poll(async () => {
      clock.advance(5_000);
      return (await database.query('select brand, category from product_labels order by asin')).rows;
    })
    .toEqual([
      { brand: 'Lumio', category: 'Kitchen' },
      { brand: 'Lumio', category: null },
    ]);
}

async function unitsUsed(client: Client): Promise<number> {
  return (await client.get('/api/quota')).json.data.general.monthly.used;
}

test('a week has labels of products looked up, of the present provider only', async ({ souk, client }) => {
  const { database, providers } = souk;
  await lookUp(souk, client);
  const used = await unitsUsed(client);
  const rank = (query: string) => client.get(`/api/aba/rank?country=uk&${query}`);

  await load(database, 'uk', REPORT, WEEK, REPORTS, 'another provider');
  const refused = await rank('brand=lumio&category=Kitchen');
  expect(refused.json).toMatchObject({ code: 'VALIDATION_FAILED' });
  expect(refused.status).toBe(400);
  expect(refused.json.msg).toContain(
    `brand: cannot be used: the report of uk for ${WEEK} has no brands and categories`,
  );
  expect(refused.json.msg).toContain('category: cannot be used');
  expect(await unitsUsed(client)).toBe(used);
  expect((await rank(`reportDate=${WEEK}`)).json.data.rows[0].brands).toEqual([]);

  await load(database, 'uk', REPORT, WEEK, REPORTS, providers.products);
  const kettle = { keyword: 'kettle', brands: ['Lumio'], categories: ['Kitchen'] };
  expect((await rank('brand=lumio')).json.data.rows).toEqual([expect.objectContaining(kettle)]);
  expect((await rank('category=kitchen&keyword=kett')).json.data.rows).toEqual([
    expect.objectContaining(kettle),
  ]);
  expect((await rank('limit=10')).json.data.rows[1]).toMatchObject({ keyword: 'tent', brands: [] });

  // Labels stay when the changes of the week are computed again.
  await load(database, 'uk', csvReport('2026-02-21', [{ term: 'kettle', rank: 2, brands: ['Acme'] }]));
  expect((await rank('brand=lumio&limit=5')).json.data.rows).toEqual([
    expect.objectContaining({ ...kettle, lastRank: 2 }),
  ]);
});

test('labels of the demo provider are not used for reports of another one', async ({ souk }) => {
  const { database } = souk;
  await database.query(
    `insert into product_labels (site, asin, provider, brand, learned_at)
      select 2, asin1, 'demo', 'Invented', now() from aba_ranks where site = 2 and asin1 > 0
      on conflict (site, asin) do update set provider = 'demo', brand = 'Invented'`,
  );
  await load(database, 'uk', REPORT, WEEK, REPORTS, 'demo');
  expect((await database.query("select from aba_labels where name = 'Invented'")).rows).toEqual([]);
});

test('labels are deleted 400 days after their product was last looked up', async ({ souk }) => {
  const { clock, database } = souk;
  const day = (days: number) => new Date(clock.now() - days * 86_400_000);
  await database.query(
    `insert into product_labels (site, asin, provider, brand, learned_at)
      values (1, 1, 'p', 'old', $1), (1, 2, 'p', 'young', $2)`,
    [day(401), day(399)],
  );
  await expect
    .poll(async () => {
      clock.advance(60_000);
      return (await database.query('select brand from product_labels where site = 1')).rows;
    })
    .toEqual([{ brand: 'young' }]);
});
