import { describe, expect } from 'vitest';
import { takePart } from '../../../src/api/mcp/parts.ts';
import { rank } from '../../../src/operations/brand-analytics/rank.ts';
import { jsonAnswerOf, type QueuedOperation } from '../../../src/operations/define.ts';
import { OPERATIONS } from '../../../src/operations/index.ts';
import { bestSellers } from '../../../src/operations/market/best-sellers.ts';
import { deal as deals } from '../../../src/operations/market/deal.ts';
import { lightningDeal } from '../../../src/operations/market/lightning-deal.ts';
import { relatedQueries } from '../../../src/operations/trends/related.ts';
import { dailyTrends } from '../../../src/operations/trends/trending.ts';
import { test } from '../../support/demo-souk-test.ts';
import { connectAgent } from '../../support/mcp-client.ts';
import { sampleOf, sendSample } from '../../support/operation-samples.ts';

const ASIN = 'B0C3CDEF03';

describe('values', () => {
  test('of products are in the currency of the site, in stars and in ISO times; decode=false returns raw ones', async ({
    demoClient,
  }) => {
    const agent = await connectAgent(demoClient);
    const product = async (args: object) =>
      (await agent.call('market_get_product', { country: 'us', asins: [ASIN], ...args })).data.products[0];
    const raw = await product({ decode: false });
    expect(await product({})).toMatchObject({
      price: raw.price / 100,
      rating: raw.rating / 10,
      bsr: raw.bsr,
      lastUpdate: expect.stringMatching(/^2026-\d\d-\d\dT\d\d:\d\d:00Z$/),
    });
    const { statistics } = await product({ detailLevel: 'lite', stats: 90, fields: 'statistics.current' });
    expect(statistics.current.new).toBe(raw.price / 100);
    const yen = { country: 'jp', fields: 'price' };
    expect(await product(yen)).toEqual(await product({ ...yen, decode: false }));
  });

  test('of deals are those of the price type and the period', async ({ demoClient }) => {
    const agent = await connectAgent(demoClient);
    const { data } = await agent.call('market_find_deals', {
      country: 'us',
      page: 3,
      priceTypes: [1],
      dateRange: 2,
    });
    const id = data._call.jobId;
    expect(data.nextStep).toEqual({ tool: 'jobs_get_result', arguments: { id, path: 'deals.dr' }, units: 0 });
    // biome-ignore lint/suspicious/noExplicitAny: a raw deal has lists of several depths.
    const first = (answer: { data: any }) => answer.data.value;
    const deal = first(await agent.call('jobs_get_result', { id, path: 'deals.dr.0' }));
    const raw = first(await agent.call('jobs_get_result', { id, path: 'deals.dr.0', decode: false }));
    expect(deal).toMatchObject({
      asin: raw.asin,
      current: raw.current[1] / 100,
      delta: raw.delta[2][1] / 100,
      deltaPercent: raw.deltaPercent[2][1],
      currentSince: expect.stringMatching(/^20\d\d-\d\d-\d\dT/),
    });
  });

  test('of lightning deals and sellers have units, and sellers are a list with histories', async ({
    demoClient,
  }) => {
    const agent = await connectAgent(demoClient);
    const deals = async (decode: boolean) => {
      const args = { domain: 1, fields: 'dealPrice,endTime', decode };
      return (await agent.call('market_get_lightning_deals', args)).data.lightningDeals;
    };
    const [raw] = await deals(false);
    const { columns, rows } = await deals(true);
    expect(columns).toEqual(['dealPrice', 'endTime']);
    expect(rows[0]).toEqual([raw.dealPrice / 100, expect.stringMatching(/^2026-\d\d-\d\dT/)]);
    const { data } = await agent.call('market_get_seller', { domain: 1, seller: ['ABWRICYPI40AC8'] });
    expect(data.sellers[0].history.rating[0]).toEqual([
      expect.stringMatching(/^20\d\d-\d\d-\d\d$/),
      expect.any(Number),
    ]);
    expect(data.ratingPeriods).toHaveLength(data.sellers[0].ratingCount.length);
    expect(Object.values(data.sellers[0])).not.toContain(null);
  });

  test('of trends are a table with a column for each keyword', async ({ demoClient }) => {
    const agent = await connectAgent(demoClient);
    const { data } = await agent.call('web_trends_interest_over_time', { keyword: ['kettle', 'teapot'] });
    expect(data.timelineData.columns).toEqual(['date', 'kettle', 'teapot']);
    expect(data.timelineData.rows[0]).toEqual([
      expect.stringMatching(/^2025-/),
      expect.any(Number),
      expect.any(Number),
    ]);
  });
});

/** The operations whose records tools show in another form. */
const WITH_RECORDS = OPERATIONS.flatMap((operation) => {
  // A category alone has its children, one of several has their number. Answers with categories are small.
  if (operation.kind !== 'queued' || operation.name === 'market.category') return [];
  const { name, toolData, params } = operation;
  const { path } = jsonAnswerOf(operation)?.records ?? {};
  return toolData && path !== undefined ? [{ name, path, params, toolData }] : [];
});

test.for(WITH_RECORDS)(
  'records of $name are shown alike whether or not their answer is too large to be parsed',
  async ({ name, path, params, toolData }, { demoClient }) => {
    const { data } = (await sendSample(demoClient, name)).json;
    const input = params.parse(sampleOf(name));
    const records = { path, toolData: (all: Record<string, unknown>) => toolData(all, input as object) };
    const partOf = (from: object, at: string, form: typeof records | null) =>
      takePart(
        Buffer.from(JSON.stringify({ data: from })),
        { path: at, offset: 0, fields: [], series: null, records: form },
        100_000,
      );
    const shown = await partOf(records.toolData(data), path, null);
    // Search trends become a table that is not a list.
    if (!shown.items) return;
    const raw = path.split('.').reduce((value, field) => value[field], data);
    if (Array.isArray(raw)) expect(await partOf(data, path, records)).toEqual(shown);
    const first = Object.keys(raw)[0];
    const { value } = await partOf(records.toolData(data), `${path}.0`, null);
    expect(await partOf(data, `${path}.${first}`, records)).toEqual({ path: `${path}.${first}`, value });
  },
);

describe('without the parameters of a call', () => {
  const FACTS = { value: 5, formattedValue: '5', link: null };
  const withLinks = { keyword: 'a', top: [{ query: 'b', ...FACTS }], rising: [] };
  const deal = { asin: 'A', current: [100, 200], delta: [[1, 2]] };
  const trend = { rank: 1, query: 'a', articles: [] };

  // A call that was answered from the cache may have selected fields, and its parameters are not stored.
  test.for([
    [rank, { rows: [{ keyword: 'lamp' }] }],
    [relatedQueries, { results: [{ keyword: 'a' }, withLinks] }],
    [dailyTrends, { trends: [{ query: 'a' }, trend] }],
    [lightningDeal, { domainId: 1, lightningDeals: [{ asin: 'A', sellerName: 'Acme' }] }],
    [deals, { domainId: 1, deals: { dr: [deal] } }],
  ] as const)('no value of %# is lost or made up', ([operation, data]) => {
    const { toolData } = operation as QueuedOperation;
    expect(toolData?.(data, {})).toEqual(data);
  });
});

test('a product search has histories with from, to or points alone', async ({ demoClient }) => {
  const agent = await connectAgent(demoClient);
  const found = { country: 'us', term: 'pump', fields: 'history.new', points: 4 };
  const { data } = await agent.call('market_search_products', found);
  expect(JSON.stringify(data)).toMatch(/"20\d\d-\d\d-\d\d"/);
});

test('a category without best sellers has no time at which its list was made', () => {
  const { respond, toolData } = bestSellers;
  if (respond.type !== 'json') throw new Error('lists are JSON');
  const input = bestSellers.params.parse({ domain: 1, category: 5 });
  const { data } = respond.present(new Map(), input, { now: 0 });
  expect(data.bestSellersList).toMatchObject({ lastUpdate: -1, asinList: [] });
  expect(toolData?.(data, input).bestSellersList).toMatchObject({ lastUpdate: null });
});

describe('the site', () => {
  test.for([
    ['market_get_product', { asins: [ASIN] }],
    ['market_find_products', { title: 'a' }],
    ['market_find_deals', {}],
    ['aba_search_keywords', { keyword: 'lamp' }],
    ['aba_reverse_asin', { asins: ['B0C3CDEF01'] }],
    ['web_trends_daily_trends', {}],
    [
      'trackers_create',
      {
        name: 'a',
        cron: '0 6 * * 1',
        asins: [ASIN],
        conditions: [{ type: 'price_below', price: 'new', value: 9 }],
      },
    ],
    [
      'trackers_create',
      {
        name: 'a',
        cron: '0 6 * * 1',
        keywords: ['desk lamp'],
        conditions: [{ type: 'keyword_rank_below', value: 10 }],
      },
    ],
    ['batches_create', { operation: 'market.product', split: { asins: [ASIN] } }],
    ['batches_create', { operation: 'market.deal' }],
    ['batches_create', { operation: 'aba.search' }],
  ] as const)(
    'of %s %j is accepted as country, domain and domainId',
    async ([tool, args], { demoClient }) => {
      const agent = await connectAgent(demoClient);
      for (const site of [{ country: 'us' }, { domain: 1 }, { domainId: 1 }, { country: 'US', domain: 1 }]) {
        const batch =
          'split' in args
            ? { params: site }
            : { items: [{ ...site, ...(tool === 'batches_create' ? itemOf(args) : {}) }] };
        const sent = tool === 'batches_create' ? { ...args, ...batch } : { ...args, ...site };
        const { data, isError } = await agent.call(tool, { ...sent, dryRun: true });
        expect([site, isError, data.error]).toEqual([site, false, undefined]);
      }
      const { data } = await agent.call(tool, { ...args, country: 'us', domainId: 3, dryRun: true });
      expect(data.error).toMatchObject({ code: 'VALIDATION_FAILED' });
    },
  );

  const weekly = { name: 'a', cron: '0 6 * * 1' };
  const belowTen = { conditions: [{ type: 'keyword_rank_below', value: 10 }] };

  test.for([
    [
      'keywords',
      { ...weekly, ...belowTen, country: 'us', keywords: ['desk lamp'] },
      { keywords: ['garden hose'] },
    ],
    ['a screen', { name: 'a', screen: { domain: 1, rank: { max: 1500 } } }, null],
  ] as const)(
    'of a tracker of %s can be changed under each name',
    async ([, tracker, change], { demoClient }) => {
      const agent = await connectAgent(demoClient);
      const { trackerId: id } = (await agent.call('trackers_create', tracker)).data;
      for (const site of [{ country: 'us' }, { domain: 1 }, { domainId: 1 }]) {
        const sent = change ? { ...site, ...change } : { screen: { ...site, rank: { max: 10 } } };
        const { data } = await agent.call('trackers_update', { id, ...sent });
        expect([site, data.error, data.domain]).toEqual([site, undefined, 1]);
      }
      await agent.call('trackers_delete', { id });
    },
  );

  test('of a batch is accepted under each name if schedules_create has a limit of units', async ({
    demoClient,
  }) => {
    const agent = await connectAgent(demoClient);
    for (const site of [{ country: 'us' }, { domain: 1 }]) {
      const batch = { operation: 'aba.search', items: [{ ...site, keyword: 'lamp' }] };
      const { data } = await agent.call('schedules_create', { ...weekly, batch, maxUnits: 1, dryRun: true });
      expect(data).toMatchObject({ units: 1 });
    }
  });

  /** What an item of a batch needs in addition to its site. */
  function itemOf(args: object): object {
    return 'operation' in args && args.operation === 'aba.search' ? { keyword: 'lamp' } : {};
  }
});
