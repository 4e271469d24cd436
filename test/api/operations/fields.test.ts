import { expect } from 'vitest';
import { EXAMPLE_ID } from '../../../src/api/ids.ts';
import { OPERATIONS, QUEUED } from '../../../src/operations/index.ts';
import { OPERATION_SAMPLES } from '../../support/operation-samples.ts';
import { test } from '../../support/souk-test.ts';
import { unitsUsed } from '../../support/units.ts';

const POSTS = OPERATIONS.flatMap(({ name, routes }) =>
  routes.flatMap(({ method, path }) => (method === 'POST' ? [[name, path] as const] : [])),
);

test.for(POSTS)(
  '%s refuses an unknown field in a body to %s, and charges nothing',
  async ([name, path], { client }) => {
    const { status, json } = await client.post(path, { ...OPERATION_SAMPLES[name]?.[0], unheardOf: 'x' });
    expect([status, json.metadata?.errors]).toMatchObject([
      400,
      [{ parameter: expect.stringContaining('unheardOf') }],
    ]);
    expect(await unitsUsed(client)).toBe(0);
  },
);

test.for(QUEUED.map(({ name }) => name))(
  '%s refuses an unknown parameter of a call by name',
  async (operation, { client }) => {
    const params = { ...OPERATION_SAMPLES[operation]?.[0], unheardOf: 'x' };
    const { status, json } = await client.post('/api/jobs', { operation, params });
    expect([status, json.metadata?.errors]).toMatchObject([
      400,
      [{ parameter: expect.stringContaining('unheardOf') }],
    ]);
    expect(await unitsUsed(client)).toBe(0);
  },
);

const product = { domain: 1, asins: ['B0UNHEARD1'] };
const call = { operation: 'market.product', params: product };
const batch = { operation: 'market.product', items: [product] };

test.for([
  ['/api/market/product', { ...product, detailLevl: 'full' }, 'detailLevl', 'detailLevel'],
  ['/api/jobs', { ...call, maxUnit: 1 }, 'maxUnit', 'maxUnits'],
  ['/api/jobs', { ...call, webhok: 'https://example.com' }, 'webhok', 'webhook'],
  ['/api/jobs/quote', { ...call, params: { ...product, ofers: 20 } }, 'ofers', 'offers'],
  ['/api/links', { target: 'job', id: EXAMPLE_ID, hour: 2 }, 'hour', 'hours'],
  ['/api/webhooks/test', { url: 'https://example.com', ur: 1 }, 'ur', null],
  ['/api/batches', { ...batch, maxUnit: 1 }, 'maxUnit', 'maxUnits'],
  ['/api/batches', { ...batch, items: [{ ...product, ofers: 20 }] }, 'ofers', 'offers'],
  ['/api/schedules', { cron: '0 6 * * *', batch: { ...batch, windw: 'any' } }, 'batch.windw', 'window'],
  [
    '/api/trackers',
    { ...product, cron: '0 6 * * *', hysteresis: 1, conditons: [] },
    'conditons',
    'conditions',
  ],
] as const)(
  '%s refuses a misspelt field with the nearest right one: %j',
  async ([path, body, parameter, right], { client }) => {
    const { status, json } = await client.post(path, body);
    const problem = right === null ? expect.any(String) : `is not a known field; did you mean ${right}?`;
    expect([status, json.metadata?.errors]).toMatchObject([
      400,
      expect.arrayContaining([expect.objectContaining({ parameter, problem })]),
    ]);
    expect(await unitsUsed(client)).toBe(0);
  },
);

test('ignores unknown parameters of a query', async ({ client }) => {
  const { status } = await client.get('/api/market/product?domain=1&asins=B0UNHEARD1&unheardOf=x');
  expect(status).toBe(200);
});

test('a call without params is refused as incomplete', async ({ client }) => {
  const { status, json } = await client.post('/api/jobs', { operation: 'market.product' });
  expect([status, json.metadata?.errors]).toEqual([
    400,
    [{ parameter: 'params', problem: 'is required: it must be an object of parameters' }],
  ]);
});
