import { expect } from 'vitest';
import { grantPack } from '../../../src/billing/grants.ts';
import { LOCAL, QUEUED } from '../../../src/operations/index.ts';
import { holdProducts, newAsin } from '../../support/answers.ts';
import type { Client } from '../../support/client.ts';
import { test } from '../../support/demo-souk-test.ts';
import { sendSample } from '../../support/operation-samples.ts';
import type { AccountOptions, Souk } from '../../support/souk.ts';
import { endOf } from '../../support/time.ts';
import { stopWorkers } from '../../support/workers.ts';

/** Returns all rows of the tables of accounts and billing. */
async function billingRows({ database }: Souk): Promise<unknown> {
  const tables = ['accounts', 'api_keys', 'subscriptions', 'packs', 'calls', 'ledger'];
  const held = tables.map(async (table) => {
    const { rows } = await database.query(`select to_jsonb(t) as row from ${table} t order by 1`);
    return rows;
  });
  return Promise.all(held);
}

const dryRun = async (client: Client, path: string) => {
  const reply = await client.get(`${path}&dryRun=1`);
  expect(reply.status).toBe(200);
  expect(reply.headers['x-units-consumed']).toBe('0');
  expect(reply.headers).not.toHaveProperty('x-job-id');
  return reply.json.data;
};

test.for(QUEUED.map(({ name }) => name))(
  'a dry run of %s returns the price, changes nothing, and the call costs no more',
  async (name, { demoSouk }) => {
    const client = await demoSouk.client();
    const before = await billingRows(demoSouk);
    const quote = (await sendSample(client, name, 'dryRun=1')).json.data;
    expect(quote).toEqual({
      dryRun: true,
      operation: name,
      units: expect.any(Number),
      admitted: true,
      billing: 'general',
      billingTrack: 'legacy',
      rejectReason: null,
      rejectMessage: null,
      deduplicated: false,
    });
    expect(await billingRows(demoSouk)).toEqual(before);
    // Some upstreams need a pause between two requests.
    const { status, headers } = await endOf(demoSouk.clock, sendSample(client, name), 100);
    expect(status).toBe(200);
    expect(Number(headers['x-units-consumed'])).toBeGreaterThan(0);
    expect(Number(headers['x-units-consumed'])).toBeLessThanOrEqual(quote.units);
    expect((await sendSample(client, name, 'dryRun=1')).json.data).toEqual({
      ...quote,
      billing: null,
      billingTrack: null,
      deduplicated: true,
    });
  },
);

test('a dry run is refused if the call would be refused for its parameters or key', async ({
  souk,
  client,
}) => {
  const wrong = '/api/market/product?domain=17&asins=B0';
  const [dry, real] = [await client.get(`${wrong}&dryRun=1`), await client.get(wrong)];
  expect([dry.status, dry.json]).toEqual([400, real.json]);
  expect((await souk.clientOf('no key').get(`${pathOf(newAsin())}&dryRun=1`)).status).toBe(401);
});

test.for(LOCAL.map(({ name }) => name))('a dry run of %s returns 0 units', async (name, { souk }) => {
  const client = await souk.client({ plan: null });
  const before = await billingRows(souk);
  const reply = await sendSample(client, name, 'dryRun=1');
  expect(reply.json.data).toMatchObject({
    operation: name,
    units: 0,
    admitted: true,
    billing: null,
    rejectReason: null,
  });
  expect(await billingRows(souk)).toEqual(before);
});

test('reads dryRun from the query of a POST', async ({ souk }) => {
  const client = await souk.client();
  const body = { domain: 1, asins: [newAsin(), newAsin(), newAsin()] };
  const { json } = await client.post('/api/market/product?dryRun=true', body);
  expect(json.data).toMatchObject({ dryRun: true, units: 3 });
  expect((await client.post('/api/market/product?dryRun=0', body)).json.data.count).toBe(3);
});

test.for(['dryRun=maybe', 'dryRun=', 'dryRun=2'])(
  'refuses ?%s, and names the parameter',
  async (option, { souk }) => {
    const client = await souk.client();
    for (const path of ['/api/quota?', `/api/market/product?domain=1&asins=${newAsin()}&`]) {
      const reply = await client.get(`${path}${option}`);
      expect(reply.status).toBe(400);
      expect(reply.json.metadata).toMatchObject({ errors: [{ parameter: 'dryRun' }] });
    }
  },
);

const pathOf = (...asins: string[]) => `/api/market/product?domain=1&asins=${asins.join(',')}`;

/** Sends a dry run, then the call, which must get what the dry run predicted. */
async function expectPredicted(
  souk: Souk,
  client: Client,
  path: string,
  expected: { status: number; code: string },
) {
  const before = await billingRows(souk);
  const predicted = await dryRun(client, path);
  expect(await billingRows(souk)).toEqual(before);
  const { status, json } = await client.get(path);
  expect({ status, code: json.code }).toEqual(expected);
  expect(predicted).toMatchObject(
    status === 200
      ? { admitted: true, rejectReason: null, rejectMessage: null }
      : { admitted: false, rejectReason: json.code, rejectMessage: json.msg, billing: null },
  );
  return predicted;
}

/** The clock stands at 10:00 UTC, an hour before the off-peak window opens. */
test.for<[string, AccountOptions]>([
  ['QUOTA_NO_SUBSCRIPTION', { plan: null }],
  ['QUOTA_OFF_PEAK_ONLY', { wallet: 'off_peak' }],
  ['QUOTA_MINUTE_EXCEEDED', { plan: { minuteLimit: 1 } }],
  ['QUOTA_DAILY_EXCEEDED', { plan: { dailyLimit: 1 } }],
  ['QUOTA_MONTHLY_EXCEEDED', { plan: { monthlyLimit: 1 } }],
  ['QUOTA_INSUFFICIENT_UNITS', { plan: { dailyLimit: 2 } }],
])('a dry run predicts %s', async ([code, account], { souk }) => {
  const client = await souk.client(account);
  await client.get(pathOf(newAsin()));
  await expectPredicted(souk, client, pathOf(newAsin(), newAsin()), { status: 429, code });
});

test('a dry run predicts QUOTA_PACK_EXHAUSTED and charges to a pack', async ({ souk }) => {
  const { accountId, key } = await souk.account({ plan: null });
  const client = souk.clientOf(key);
  const now = souk.clock.now();
  const validity = { validFrom: new Date(now), validUntil: new Date(now + 86_400_000) };
  const pack = { accountId, wallet: 'general' as const, units: 1, rateLimitPerMinute: 100, ...validity };
  await grantPack(souk.database, pack, now);
  const admitted = await expectPredicted(souk, client, pathOf(newAsin()), { status: 200, code: '0000' });
  expect(admitted).toMatchObject({ billing: 'general', billingTrack: 'pack' });
  await expectPredicted(souk, client, pathOf(newAsin()), { status: 429, code: 'QUOTA_PACK_EXHAUSTED' });
});

test('a dry run predicts QUOTA_MAX_UNITS', async ({ souk }) => {
  const client = await souk.client();
  const path = pathOf(newAsin(), newAsin());
  await expectPredicted(souk, client, `${path}&maxUnits=1`, { status: 429, code: 'QUOTA_MAX_UNITS' });
  await expectPredicted(souk, client, `${path}&maxUnits=2`, { status: 200, code: '0000' });
});

test('a dry run predicts that a cached answer below its quote is admitted', async ({ souk }) => {
  const asin = newAsin();
  const path = `/api/market/variations?domain=1&asin=${asin}`;
  expect((await (await souk.client()).get(path)).headers['x-units-consumed']).toBe('1');
  const poor = await souk.client({ plan: { dailyLimit: 1 } });
  const predicted = await expectPredicted(souk, poor, `${path}&maxUnits=1`, { status: 200, code: '0000' });
  expect(predicted.units).toBe(5);
  const other = `/api/market/variations?domain=1&asin=${newAsin()}`;
  await expectPredicted(souk, poor, other, { status: 429, code: 'QUOTA_DAILY_EXCEEDED' });
});

test('a dry run predicts BUSY, except for cached answers and joined calls', async ({ souk }) => {
  const [mine, shared] = [newAsin(), newAsin()];
  const [client, other] = [await souk.client(), await souk.client()];
  // A forced call uses no cached answer of another account.
  await client.get(`${pathOf(mine)}&update=0`);
  await other.get(pathOf(shared));
  await stopWorkers(souk);
  for (const gateway of souk.gateways) await gateway.sampleBacklog();
  await expectPredicted(souk, client, pathOf(newAsin()), { status: 503, code: 'BUSY' });
  await expectPredicted(souk, client, pathOf(shared), { status: 200, code: '0000' });
  const predicted = await expectPredicted(souk, client, `${pathOf(mine)}&update=0`, {
    status: 200,
    code: '0000',
  });
  expect(predicted).toMatchObject({ deduplicated: true, billing: null });
  await souk.addWorker();
});

test('a dry run predicts that a call joins a running one', async ({ souk }) => {
  const open = holdProducts(souk.upstream);
  const client = await souk.client({ plan: { dailyLimit: 1 } });
  const path = pathOf(newAsin());
  const running = client.get(path);
  await expect.poll(() => souk.upstream.calls.at(-1)?.params.asin).toBe(path.slice(-10));
  // The daily limit is used up, and a joined call needs no units.
  expect(await dryRun(client, path)).toMatchObject({ admitted: true, deduplicated: true });
  open();
  expect((await running).status).toBe(200);
});
