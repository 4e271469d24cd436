import { describe, expect } from 'vitest';
import { addKey } from '../../src/accounts/account-keys.ts';
import { SCOPES, WITHOUT_LIMITS } from '../../src/accounts/key-settings.ts';
import { ENDPOINTS } from '../../src/api/endpoints/index.ts';
import { newAsin } from '../support/answers.ts';
import { asinsFrom, startBatch } from '../support/batches.ts';
import type { Client } from '../support/client.ts';
import { signedIn } from '../support/customer.ts';
import { servedPaths } from '../support/routes.ts';
import { createSchedule, productsHourly } from '../support/schedules.ts';
import type { Souk, TestAccount } from '../support/souk.ts';
import { testWithHeldProducts as test } from '../support/souk-test.ts';
import { createTracker, everyTwoHours } from '../support/trackers.ts';
import { enqueueEvent } from '../support/webhooks.ts';

/** What an account makes, and no other account can read or change. */
interface Kind {
  path: string;
  /** The beginning of its pages; none for keys, which are on the page of all keys. */
  page?: string;
  /** The name of the id in a view. */
  id: string;
  code: string;
  /** What the owner's view of it still has after the requests of another account. */
  unchanged: object;
  /** @returns the id. */
  make(own: { souk: Souk; account: TestAccount; client: Client }): Promise<string>;
}

const KINDS: Kind[] = [
  {
    path: '/api/jobs',
    page: '/account/jobs',
    id: 'jobId',
    code: 'JOB_NOT_FOUND',
    unchanged: { error: null, finishedAt: null },
    make: async ({ client }) =>
      (await client.get(`/api/market/product?domain=1&asins=${newAsin()}&async=1`)).json.data.jobId,
  },
  {
    path: '/api/batches',
    page: '/account/batches',
    id: 'batchId',
    code: 'BATCH_NOT_FOUND',
    unchanged: { finishedAt: null, counts: { cancelled: 0 } },
    async make({ client }) {
      const batch = { operation: 'market.product', params: { domain: 1 }, window: 'off_peak' };
      return (await startBatch(client, { ...batch, split: { asins: [newAsin()] } })).batchId;
    },
  },
  {
    path: '/api/schedules',
    page: '/account/schedules',
    id: 'scheduleId',
    code: 'SCHEDULE_NOT_FOUND',
    unchanged: { name: 'Every hour' },
    make: async ({ client }) =>
      (await createSchedule(client, productsHourly(asinsFrom('B0OWN', 2)))).scheduleId,
  },
  {
    path: '/api/trackers',
    page: '/account/trackers',
    id: 'trackerId',
    code: 'TRACKER_NOT_FOUND',
    unchanged: { name: 'Cheap things', lastRun: null },
    make: async ({ client }) => (await createTracker(client, everyTwoHours(['B0OWN00001']))).trackerId,
  },
  {
    path: '/api/webhooks/deliveries',
    page: '/account/webhooks/deliveries',
    id: 'deliveryId',
    code: 'DELIVERY_NOT_FOUND',
    unchanged: { state: 'pending', attempts: 0 },
    make: ({ souk, account }) => enqueueEvent(souk, account.accountId, 'https://hooks.example/'),
  },
  {
    path: '/api/keys',
    id: 'id',
    code: 'KEY_NOT_FOUND',
    unchanged: { name: 'Own', state: 'active' },
    async make({ souk, account: { accountId } }) {
      const settings = { ...WITHOUT_LIMITS, name: 'Own', scopes: ['read' as const] };
      const now = souk.clock.now();
      return String((await addKey(souk.database, accountId, { settings, createdBy: null, now })).id);
    },
  },
];

/** A client of an account with a key that has every scope. */
async function withAllScopes(souk: Souk, { accountId }: TestAccount): Promise<Client> {
  const settings = { ...WITHOUT_LIMITS, scopes: [...SCOPES] };
  const { key } = await addKey(souk.database, accountId, {
    settings,
    createdBy: null,
    now: souk.clock.now(),
  });
  return souk.clientOf(key);
}

const UNKNOWN = '00000000-0000-7000-8000-000000000000';
const MALFORMED = ['1', '1e3', 'x', 'no-id-at-all', '%00', 'null', "' or 1=1"];

describe.each(KINDS)('$path', ({ path, code, unchanged, make }) => {
  test('returns 404 for what another account has made, for unknown ids and for malformed ones', async ({
    souk,
    account,
    client,
  }) => {
    const own = await withAllScopes(souk, account);
    const stranger = await withAllScopes(souk, await souk.account());
    const id = await make({ souk, account, client });
    const endpoints = ENDPOINTS.filter((endpoint) => endpoint.path.startsWith(`${path}/{id}`));
    expect(endpoints.length).toBeGreaterThan(1);
    for (const endpoint of endpoints)
      for (const asked of [id, UNKNOWN, ...MALFORMED]) {
        const method = endpoint.method.toUpperCase();
        const body = method === 'PATCH' ? { name: 'Taken' } : {};
        const sent = method === 'GET' || method === 'DELETE' ? { method } : { method, body };
        const reply = await stranger.get(endpoint.path.replace('{id}', asked), sent);
        const about = `${method} ${endpoint.path} ${asked}`;
        expect([about, reply.status, reply.json.code]).toEqual([about, 404, code]);
      }
    expect((await own.get(`${path}/${id}`)).json.data).toMatchObject(unchanged);
  });
});

test.for(KINDS.filter(({ page }) => page !== undefined))(
  'the pages $page return 404 for what another customer has made, and do not list it',
  async ({ page = '', make }, { souk, account, client }) => {
    const id = await make({ souk, account, client });
    const { visitor } = await signedIn(souk);
    expect((await visitor.get(page.replace('/deliveries', ''))).html).not.toContain(id);
    const pages = servedPaths(souk.gateways[0]?.app).filter(({ path }) => path.startsWith(`${page}/:`));
    expect(pages.length).toBeGreaterThan(1);
    for (const { path, methods } of pages)
      for (const method of methods.filter((one) => one === 'GET' || one === 'POST')) {
        const address = path.replace(':format', 'ndjson').replace(/:\w+/g, id);
        const { status } = await (method === 'GET' ? visitor.get(address) : visitor.post(address, {}));
        expect([method, address, status]).toEqual([method, address, 404]);
      }
  },
);

const LISTED = KINDS.filter(({ path }) => path !== '/api/keys');

describe.each(LISTED)('the list of $path', ({ path, id, make }) => {
  const pageOf = async (client: Client, query: string) => {
    const { nextCursor, ...lists } = (await client.get(`${path}?${query}`)).json.data;
    const [views] = Object.values(lists) as Record<string, string>[][];
    return { ids: views?.map((view) => view[id]), nextCursor };
  };

  test('is that of the account by page, newest first, without gaps while more are made', async ({
    souk,
    account,
    client,
  }) => {
    const ids: string[] = [];
    for (let i = 0; i < 3; i += 1) ids.unshift(await make({ souk, account, client }));
    const [, second = '', last = ''] = ids;
    expect(await pageOf(client, 'limit=2')).toEqual({ ids: ids.slice(0, 2), nextCursor: second });
    await make({ souk, account, client });
    expect(await pageOf(client, `limit=2&cursor=${second}`)).toEqual({ ids: [last], nextCursor: null });
    // A full last page has no cursor either.
    expect(await pageOf(client, `limit=1&cursor=${second}`)).toEqual({ ids: [last], nextCursor: null });
    const stranger = await souk.client();
    for (const query of ['', `cursor=${second}`])
      expect(await pageOf(stranger, query)).toEqual({ ids: [], nextCursor: null });
  });

  test.for(['limit=0', 'limit=101', 'limit=some', 'cursor=x', 'cursor=7', "cursor=' or 1=1"])(
    'refuses ?%s',
    async (query, { client }) => {
      const { status, json } = await client.get(`${path}?${query}`);
      const [parameter] = query.split('=');
      expect([status, json.code]).toEqual([400, 'VALIDATION_FAILED']);
      expect(json.metadata?.errors).toMatchObject([{ parameter }]);
    },
  );
});
