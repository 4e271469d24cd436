import { expect } from 'vitest';
import { categoriesPage } from '../../../../src/site/customer/explore/categories-page.tsx';
import { comparePage } from '../../../../src/site/customer/explore/compare-page.tsx';
import { keywordPage } from '../../../../src/site/customer/explore/keyword-page.tsx';
import { productPage } from '../../../../src/site/customer/explore/product-page.tsx';
import { ranksPage } from '../../../../src/site/customer/explore/ranks-page.tsx';
import {
  dealsPage,
  finderPage,
  searchPage,
  sellerPage,
} from '../../../../src/site/customer/explore/search-pages.tsx';
import { todayPage, trendsPage } from '../../../../src/site/customer/explore/trends-page.tsx';
import { requestOf } from '../../../../src/site/customer/explore/view-state.ts';
import { type Customer, PAGES, signedIn } from '../../../support/customer.ts';
import { answersAsDemo } from '../../../support/demo-upstream.ts';
import { openViewer, type Viewer, withAllData } from '../../../support/explore-pages.ts';
import { csvReport, load } from '../../../support/reports.ts';
import type { ScriptedUpstream } from '../../../support/scripted-upstream.ts';
import type { Souk } from '../../../support/souk.ts';
import { test } from '../../../support/souk-test.ts';
import { guarded } from '../../../support/trends-client.ts';
import { rows } from '../../../support/words.ts';
import { stopWorkers } from '../../../support/workers.ts';

const ASIN = 'B0C3CDEF01';

/** Every page. */
const ALL = {
  productPage,
  comparePage,
  searchPage,
  finderPage,
  categoriesPage,
  dealsPage,
  sellerPage,
  keywordPage,
  ranksPage,
  trendsPage,
  todayPage,
};

/** For each page, a form that finds data and what the page shows. */
const FOUND = rows(`
  product    | domain=1&asin=B0C3CDEF01          | Sold in a month;Fulfilment fee;Average price, 90 days;Sources, dates;variations;tent;21.40%
  compare    | domain=1&asins=B0C3CDEF01 B0C3CDEF02 | Price in the period;Sold in a month;Sources, dates
  search     | domain=1&term=pump                | 100 products;Sold in a month;1 to 30 of 100
  finder     | domain=1&rankMax=20000            | Details;Brand
  categories | domain=1&category=200000          | Subcategories;All root categories;Brand
  deals      | domain=1&priceType=1&dateRange=1  | Drop in %;1 to 30 of 150
  seller     | domain=1&seller=AKT8ZJ45IBZW2X    | Positive in a year;Brand
  keyword    | country=us&keyword=tent           | Best rank;21.40%;Most-clicked products;New in the top three;Sources, dates;Last rank
  ranks      | country=us                        | Week that ended on 2026-01-17;tent
  trends     | keyword=kettle, teapot&geo=US     | Interest over time;California;US-CA;Fastest growing
  today      | geo=US                            | Growth;Started
`);

/** For each page, a form that finds none and what the page says. */
const MISSING = rows(`
  product    | domain=1&asin=ZX00000000                             | does not know the ASIN ZX00000000 on this site
  compare    | domain=1&asins=ZX00000000 ZX00000001                 | does not know the ASIN ZX00000000 on this site
  search     | domain=1&term=nothing                                | No products.
  finder     | domain=1&rankMax=1&words=nothing                     | No products.
  categories | domain=1&category=7                                  | does not know this category;No products.
  deals      | domain=1&priceType=1&dateRange=1&titleSearch=nothing | No deals.
  seller     | domain=1&seller=AUNKNOWN000000                       | does not know this seller
  keyword    | country=us&keyword=nothing                           | has the term nothing;No term has these words.
  ranks      | country=us&keyword=nothing                           | No term matches the filters.
  trends     | keyword=nothing&geo=US                               | Too few people searched for these words.;None.
  today      | geo=CA                                               | No searches.
`);

const named = Object.entries(ALL).map(([name, page]) => {
  const of = (table: string[][]) => {
    const [, form = '', texts = ''] = table.find(([one]) => `${one}Page` === name) ?? [];
    if (texts === '') throw new Error(`${name} has no row`);
    return [form, texts] as const;
  };
  const [[found, shows], [missing, says]] = [of(FOUND), of(MISSING)];
  const formIn = (text: string) => Object.fromEntries(new URLSearchParams(text));
  const parts = { shows: shows.split(';'), says: says.split(';') };
  return { page, path: page.path, found: formIn(found), missing: formIn(missing), ...parts };
});

/** The answers of upstream without data. */
const NOTHING: Readonly<Record<string, object>> = {
  product: { products: [] },
  search: { products: [] },
  query: { asinList: [], totalResults: 0 },
  category: { categories: {} },
  bestsellers: {},
  deal: { deals: { dr: [], drDateIndex: [], categoryIds: [], categoryNames: [], categoryCount: [] } },
  seller: { sellers: {} },
};

test.override('soukOptions', { pages: { ...PAGES, hasDemoPictures: true } });
let souk: Souk;
let customer: Customer;
let viewer: Viewer;

test.beforeAll(async ({ souk: opened }) => {
  souk = opened;
  customer = await signedIn(souk);
  viewer = await openViewer();
  const report = [{ term: 'tent', rank: 12, products: [[ASIN, 'A tent', '21.4', '9.8']] }];
  await load(souk.database, 'us', csvReport('2026-01-17', report as never));
});

test.afterAll(() => viewer.close());

/** Calls that are refused, run or have failed look the same on all pages, so two of the pages are seen with them. */
const isSeenWithoutData = (path: string) =>
  process.env.SOUK_SCREENSHOTS === '1' || [productPage.path, trendsPage.path].includes(path);
const nameOf = (address: string) => address.replace(/^\/|\?.*/g, '').replace('/', '-');
const addressOf = (path: string, form: object) =>
  `${path}?${new URLSearchParams(form as Record<string, string>)}`;

/** Answers without data. */
function hasNothing(upstream: ScriptedUpstream): void {
  for (const [path, json] of Object.entries(NOTHING)) upstream.on(path, () => ({ json }));
  upstream.on('trends/api/widgetdata/multiline', () =>
    guarded({ default: { timelineData: [], averages: [] } }, ")]}',\n"),
  );
  upstream.on('trends/api/widgetdata/comparedgeo', () => guarded({ default: { geoMapData: [] } }, ")]}',\n"));
  upstream.on('trends/api/widgetdata/relatedsearches', () =>
    guarded({ default: { rankedList: [{ rankedKeyword: [] }, { rankedKeyword: [] }] } }, ")]}',\n"),
  );
  upstream.on('_/TrendsUi/data/batchexecute', () =>
    guarded([['wrb.fr', 'i0OFE', JSON.stringify([null, []]), null, null, null, 'generic']], ")]}'\n\n"),
  );
}

test.for(named)('$path shows the data of all its calls', async ({ path, found, shows }, { demo }) => {
  answersAsDemo(souk.upstream, demo);
  const { status, html, text, path: address } = await withAllData(souk, customer, addressOf(path, found));
  expect(status).toBe(200);
  for (const part of shows) expect(text).toContain(part);
  expect(text).not.toMatch(/\b(?:undefined|NaN|null|\[object Object\])/);
  expect(html).not.toContain('aria-busy="true"');
  // Pictures are those of this service.
  expect(html).not.toContain('src="http');
  await viewer.see(customer, address, `${nameOf(path)}-with-data`);
});

test('pictures of the demo provider come from the service itself, and nothing else', async ({ demo }) => {
  answersAsDemo(souk.upstream, demo);
  const { client } = customer;
  const { json } = await client.get(`/api/market/product?domain=1&asins=${ASIN}&detailLevel=summary`);
  const [{ image }] = json.data.products;
  const { status, headers, text } = await client.raw(`/images/I/${image}`);
  expect([status, headers['content-type']]).toEqual([200, 'image/svg+xml']);
  expect(headers['content-security-policy']).toBe("default-src 'none'; sandbox");
  expect(text).toMatch(/^<svg /);
  for (const name of ['unknown.svg', '..%2F..%2Ftoken.svg', 'a%3Fb.svg', 'token'])
    expect([name, (await client.raw(`/images/I/${name}`)).status]).toEqual([name, 404]);
});

test.for(named)('$path says what it lacks without data', async ({ path, missing, says }, { demo }) => {
  answersAsDemo(souk.upstream, demo);
  hasNothing(souk.upstream);
  const { status, text, path: address } = await withAllData(souk, customer, addressOf(path, missing));
  expect(status).toBe(200);
  for (const sentence of says) expect(text).toContain(sentence);
  await viewer.see(customer, address, `${nameOf(path)}-empty`);
});

test.for([
  ['is shown although no report has the term', () => {}, 'Search interest in nothing'],
  ['without values is said to have too few searches', hasNothing, 'Too few people searched for this term'],
] as const)('a paid search trend %s', async ([, prepare, says], { demo }) => {
  answersAsDemo(souk.upstream, demo);
  prepare(souk.upstream);
  const form = { country: 'us', keyword: 'nothing', trends: '1' };
  // Answers of the other case are too old then.
  souk.clock.advance(3_700_000);
  const { html, text } = await withAllData(souk, customer, addressOf(keywordPage.path, form));
  expect(text).toContain('has the term nothing');
  expect(html).toContain(says);
});

test('the ASINs of a list stay where their details have failed or are missing', async ({ demo }) => {
  answersAsDemo(souk.upstream, demo);
  const form = { domain: '1', rankMax: '20000' };
  const { path, html } = await withAllData(souk, customer, addressOf(finderPage.path, form));
  expect(html).toContain('class="asins"');
  const failed = new URL(path, 'http://souk');
  failed.searchParams.set('details0', '01980000-0000-7000-8000-000000000000');
  expect((await customer.visitor.get(failed.pathname + failed.search)).html).toContain('class="asins"');
});

test('an answer that cannot be read now is asked for again, and not said to be free', async ({
  demo,
  openAnother,
}) => {
  const other = await openAnother({ pages: PAGES, limits: { freePerSecond: 20 } });
  answersAsDemo(other.upstream, demo);
  const { client, visitor } = await signedIn(other);
  const form = { domain: '1', term: 'pump' };
  const { path } = await visitor.post(searchPage.path, { ...form, view: 'results' });
  expect((await visitor.get(path)).text).toContain('100 products');
  // All free requests of the account in five seconds, and some more.
  await Promise.all(Array.from({ length: 110 }, () => client.get('/api/jobs?limit=1')));
  const { html, text } = await visitor.get(path);
  expect(text).toContain('The answer cannot be read now');
  expect(text).not.toContain('Nothing was charged');
  expect(html).toContain('data-refresh="1"');
});

test.for(named)('$path has no button for a call without units', async ({ path, found }) => {
  const withoutPlan = await signedIn(souk, { plan: null });
  const { status, html, text } = await withoutPlan.visitor.get(addressOf(path, found));
  expect(status).toBe(200);
  expect(text).toContain('cannot be made now');
  expect(text).toContain('QUOTA_NO_SUBSCRIPTION');
  expect(html).not.toContain('name="view"');
  if (isSeenWithoutData(path))
    await viewer.see(withoutPlan, addressOf(path, found), `${nameOf(path)}-refused`);
});

test('every page shows a call that runs as loading, and its error when it has failed', async () => {
  const other = await signedIn(souk);
  const { client, visitor } = other;
  // Answers of other tests are too old then.
  souk.clock.advance(3_700_000);
  // The gateway knows workers that have reported at the present time, and takes calls after they have stopped.
  await souk.addWorker();
  await souk.gateways[0]?.sampleBacklog();
  await stopWorkers(souk);
  const addresses = await Promise.all(
    named.map(async ({ page, path, found }) => {
      const form = found;
      const [view] = page.views(form) ?? [];
      if (!view) throw new Error(`${path} has no view`);
      const { method, url, body } = requestOf(view);
      const headers = { prefer: 'respond-async' };
      const accepted = await (method === 'POST'
        ? client.post(url, body, { headers })
        : client.get(url, { headers }));
      expect([path, accepted.status]).toEqual([path, 202]);
      return addressOf(path, { ...form, [view.name]: accepted.headers['x-job-id'] ?? '' });
    }),
  );
  for (const address of addresses) {
    const { html, text } = await visitor.get(address);
    expect([address, text]).toEqual([address, expect.stringContaining('Loading')]);
    expect(html).toContain('data-refresh="1"');
    expect(html).not.toContain('name="view"');
    if (isSeenWithoutData(address.replace(/\?.*/, '')))
      await viewer.see(other, address, `${nameOf(address)}-loading`);
  }
  // Past the deadlines of all calls.
  souk.clock.advance(900_000);
  const worker = await souk.addWorker();
  await worker.reconcile();
  for (const address of addresses) {
    const { html, text } = await visitor.get(address);
    expect([address, text]).toEqual([address, expect.stringContaining('The call failed: ')]);
    expect(text).toContain('Nothing was charged. Try again (');
    expect(html).not.toContain('data-refresh');
    if (isSeenWithoutData(address.replace(/\?.*/, '')))
      await viewer.see(other, address, `${nameOf(address)}-failed`);
  }
});
