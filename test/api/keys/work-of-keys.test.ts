import { describe, expect } from 'vitest';
import { addKey, changeKey, revokeKeys } from '../../../src/accounts/account-keys.ts';
import { testAccountOf } from '../../../src/accounts/authentication.ts';
import { WITHOUT_LIMITS } from '../../../src/accounts/key-settings.ts';
import { createTestKey } from '../../../src/billing/test-wallet.ts';
import { holdProducts, knowsEveryProduct, newAsin } from '../../support/answers.ts';
import { batchOnce, isFinished, isWaiting, startBatch } from '../../support/batches.ts';
import type { Client } from '../../support/client.ts';
import { PAGES, signedIn } from '../../support/customer.ts';
import { connectAgent } from '../../support/mcp-client.ts';
import {
  batchQueueOf,
  comesAbout,
  createSchedule,
  passHour,
  patchSchedule,
  productsHourly,
  runsMade,
  runsOf,
} from '../../support/schedules.ts';
import { openScriptedUpstream } from '../../support/scripted-upstream.ts';
import type { Souk } from '../../support/souk.ts';
import { test as base } from '../../support/souk-test.ts';
import { createTracker, everyTwoHours } from '../../support/trackers.ts';

const test = base
  .extend('testUpstream', { scope: 'file' }, async ({}, { onCleanup }) => {
    const upstream = await openScriptedUpstream();
    upstream.on('product', knowsEveryProduct);
    onCleanup(() => upstream.close());
    return upstream;
  })
  .override('soukOptions', ({ testUpstream }) => ({ testUrl: testUpstream.url, pages: PAGES }));

// Each test starts on the hour, when no other schedule is due.
test.beforeEach(({ souk, upstream: _ }) => passHour(souk));

interface Keyed {
  id: number;
  client: Client;
}

/** A new key of an account. */
async function keyWith(
  souk: Souk,
  accountId: number,
  limits: Partial<typeof WITHOUT_LIMITS>,
): Promise<Keyed> {
  const now = souk.clock.now();
  const settings = { ...WITHOUT_LIMITS, ...limits };
  const { key, id } = await addKey(souk.database, accountId, { settings, createdBy: null, now });
  return { id, client: souk.clientOf(key) };
}

const CAPPED = { scopes: ['read', 'schedules', 'trackers', 'batches', 'products'], capDay: 1 } as const;

const revoke = ({ database, clock }: Souk, accountId: number, { id }: Keyed) =>
  revokeKeys(database, accountId, String(id), clock.now());

const threeProducts = (fields = {}) => productsHourly([newAsin(), newAsin(), newAsin()], fields);

const usedBy = async ({ client }: Keyed) => (await client.get('/api/quota')).json.data.key.used.day;

/** Waits until the batch of a run waits for the cap of its key. @returns its state. */
async function waitsForCap(souk: Souk, client: Client, batch: { batchId: string }) {
  const { waiting, units } = await batchOnce(souk, client, batch, isWaiting, 100);
  return { reason: waiting?.reason, charged: units.charged };
}

const CAP_HOLDS = { reason: 'KEY_CAP_REACHED', charged: 1 };

const refusalBy = async (client: Client, path: string, method: string, body?: unknown) => {
  const { status, json } = await client.get(path, { method, ...(body === undefined ? {} : { body }) });
  return [status, json.code, json.metadata?.requiredScopes];
};

describe('a run that a key with a cap starts', () => {
  test('counts for this key and stops at its cap, and the schedule belongs to it from then on', async ({
    souk,
    account,
    client,
  }) => {
    const capped = await keyWith(souk, account.accountId, CAPPED);
    const schedule = await createSchedule(client, threeProducts());
    const started = await capped.client.post(`/api/schedules/${schedule.scheduleId}/run`, '');
    expect(started.status).toBe(202);
    const { batch } = started.json.data;
    expect(await waitsForCap(souk, client, batch)).toEqual(CAP_HOLDS);
    expect(await usedBy(capped)).toBe(1);
    await client.get(batch.links.self, { method: 'DELETE' });
    await revoke(souk, account.accountId, capped);
    passHour(souk);
    const [run] = await runsMade(souk, client, schedule, 2);
    expect(run).toMatchObject({
      trigger: 'tick',
      state: 'skipped',
      batchId: null,
      reason: `The API key ${capped.client.key.slice(0, 7)}… to which it belongs was revoked or has expired.`,
    });
  });

  test('counts for this key if it is a check of a tracker, which belongs to the key from then on', async ({
    souk,
    account,
    client,
  }) => {
    const capped = await keyWith(souk, account.accountId, CAPPED);
    const tracker = await createTracker(client, everyTwoHours([newAsin(), newAsin()]));
    const { batch } = (await capped.client.post(`/api/trackers/${tracker.trackerId}/run`, '')).json.data;
    expect(await waitsForCap(souk, client, batch)).toEqual(CAP_HOLDS);
    await client.get(batch.links.self, { method: 'DELETE' });
    await revoke(souk, account.accountId, capped);
    const lastRun = async () => (await client.get(tracker.links.self)).json.data.lastRun;
    passHour(souk);
    passHour(souk);
    await comesAbout(souk, async () => (await lastRun()).trigger !== 'manual');
    expect(await lastRun()).toMatchObject({
      state: 'skipped',
      reason: expect.stringContaining('to which it belongs was revoked'),
    });
  });

  test('counts for this key if an agent starts it by a tool', async ({ souk, account, client }) => {
    const capped = await keyWith(souk, account.accountId, CAPPED);
    const agent = await connectAgent(capped.client, { toolsets: 'all' });
    const { scheduleId } = await createSchedule(client, threeProducts({ paused: true }));
    const { trackerId } = await createTracker(client, everyTwoHours([newAsin(), newAsin()]));
    const { data: ofSchedule } = await agent.call('schedules_run', { id: scheduleId });
    expect(await waitsForCap(souk, client, ofSchedule.batch)).toEqual(CAP_HOLDS);
    const { data: ofTracker } = await agent.call('trackers_run', { id: trackerId });
    const { reason } = await waitsForCap(souk, client, ofTracker.batch);
    expect([reason, await usedBy(capped)]).toEqual(['KEY_CAP_REACHED', 1]);
  });

  test('counts for this key in test mode', async ({ souk, account }) => {
    const key = await createTestKey(souk.database, account.accountId, souk.clock.now());
    const client = souk.clientOf(key);
    const capped = await keyWith(souk, testAccountOf(account.accountId), CAPPED);
    const { scheduleId } = await createSchedule(client, threeProducts({ paused: true }));
    const { batch } = (await capped.client.post(`/api/schedules/${scheduleId}/run`, '')).json.data;
    expect(await waitsForCap(souk, client, batch)).toEqual(CAP_HOLDS);
    expect(await usedBy(capped)).toBe(1);
  });
});

describe('a schedule', () => {
  test('that a key without limits or a page starts stays that of the key with a cap, and only the run counts for the starter', async ({
    souk,
    account,
    client,
  }) => {
    const capped = await keyWith(souk, account.accountId, CAPPED);
    const schedule = await createSchedule(capped.client, threeProducts());
    const { batch } = (await client.post(`/api/schedules/${schedule.scheduleId}/run`, '')).json.data;
    expect(await batchOnce(souk, client, batch, isFinished, 100)).toMatchObject({ units: { charged: 3 } });
    expect(await usedBy(capped)).toBe(0);
    await revoke(souk, account.accountId, capped);
    const again = (await client.post(`/api/schedules/${schedule.scheduleId}/run`, '')).json.data;
    expect(again.run.state).toBe('started');
    await batchOnce(souk, client, again.batch, isFinished, 100);
    passHour(souk);
    expect((await runsMade(souk, client, schedule, 3))[0]).toMatchObject({ state: 'skipped' });
  });

  test.for([
    ['a schedule', { name: 'Mine' }],
    ['a tracker', { hysteresisPercent: 3 }],
  ] as const)(
    '%s that a key with a cap changes belongs to it',
    async ([what, change], { souk, account, client }) => {
      const capped = await keyWith(souk, account.accountId, CAPPED);
      const asins = [newAsin(), newAsin(), newAsin()];
      const { links } =
        what === 'a schedule'
          ? await createSchedule(client, productsHourly(asins))
          : await createTracker(client, everyTwoHours(asins));
      const changed = await capped.client.get(links.self, { method: 'PATCH', body: change });
      expect(changed.status).toBe(200);
      passHour(souk);
      passHour(souk);
      const listed = async () =>
        (await client.get(`/api/batches?scheduleId=${links.self.split('/').at(-1)}`)).json.data.batches;
      await comesAbout(souk, async () => (await listed()).length > 0);
      expect(await waitsForCap(souk, client, (await listed())[0])).toEqual(CAP_HOLDS);
      await client.get(links.self, { method: 'DELETE' });
    },
  );

  test('keeps its key after a refused change, a price request, and a run that cannot start', async ({
    souk,
    account,
    client,
    upstream,
  }) => {
    const capped = await keyWith(souk, account.accountId, CAPPED);
    const schedule = await createSchedule(client, threeProducts());
    expect((await patchSchedule(capped.client, schedule, {})).status).toBe(400);
    const dry = await capped.client.get(`${schedule.links.self}?dryRun=1`, {
      method: 'PATCH',
      body: { name: 'Dry' },
    });
    expect(dry.json.data.dryRun).toBe(true);
    const release = holdProducts(upstream);
    const open = (await client.post(schedule.links.run, '')).json.data;
    const refused = await capped.client.post(schedule.links.run, '');
    expect([refused.status, refused.json.code]).toEqual([409, 'BATCH_STATE']);
    release();
    await batchOnce(souk, client, open.batch, isFinished, 100);
    await revoke(souk, account.accountId, capped);
    passHour(souk);
    expect((await runsMade(souk, client, schedule, 2))[0]).toMatchObject({ trigger: 'tick', reason: null });
  });

  test('of a key with a cap belongs to a key without that changes it', async ({ souk, account, client }) => {
    const capped = await keyWith(souk, account.accountId, CAPPED);
    const schedule = await createSchedule(capped.client, threeProducts());
    await patchSchedule(client, schedule, { name: 'Adopted' });
    await revoke(souk, account.accountId, capped);
    passHour(souk);
    const [run] = await runsMade(souk, client, schedule, 1);
    const batch = await batchOnce(souk, client, { batchId: run?.batchId ?? '' }, isFinished, 100);
    expect(batch.units.charged).toBe(3);
  });

  test('of a key with a cap belongs to the account when a signed-in person changes it', async ({ souk }) => {
    const { accountId, client, visitor } = await signedIn(souk);
    const capped = await keyWith(souk, accountId, CAPPED);
    const schedule = await createSchedule(capped.client, threeProducts());
    await revoke(souk, accountId, capped);
    await visitor.get(`/account/schedules/${schedule.scheduleId}`);
    for (const act of ['pause', 'resume'])
      await visitor.post(`/account/schedules/${schedule.scheduleId}/${act}`, {});
    passHour(souk);
    const [run] = await runsMade(souk, client, schedule, 1);
    const batch = await batchOnce(souk, client, { batchId: run?.batchId ?? '' }, isFinished, 100);
    expect(batch.units.charged).toBe(3);
  });

  test('and a tracker refuse a key that lacks the scope of their operation', async ({
    souk,
    account,
    client,
  }) => {
    const limited = await keyWith(souk, account.accountId, {
      scopes: ['read', 'schedules', 'trackers', 'sellers'],
    });
    const schedule = await createSchedule(client, threeProducts());
    const tracker = await createTracker(client, everyTwoHours([newAsin()]));
    const items = { operation: 'market.seller', items: [{ domain: 1, seller: ['A1B2C3D4E5F6G7'] }] };
    const OUT_OF_SCOPE = [403, 'KEY_SCOPE_MISSING', ['products']];
    for (const { self } of [schedule.links, tracker.links]) {
      expect(await refusalBy(limited.client, `${self}/run`, 'POST', '')).toEqual(OUT_OF_SCOPE);
      expect(await refusalBy(limited.client, self, 'PATCH', { paused: true })).toEqual(OUT_OF_SCOPE);
      expect(await refusalBy(limited.client, self, 'DELETE')).toEqual(OUT_OF_SCOPE);
    }
    const replaced = await refusalBy(limited.client, schedule.links.self, 'PATCH', { batch: items });
    expect(replaced).toEqual(OUT_OF_SCOPE);
    const agent = await connectAgent(limited.client, { toolsets: 'all' });
    const { data } = await agent.call('schedules_run', { id: schedule.scheduleId });
    expect(data.error.code).toBe('KEY_SCOPE_MISSING');
    expect(await runsOf(client, schedule)).toEqual([]);
    expect((await client.get(schedule.links.self)).json.data).toEqual(schedule);
  });
});

describe('a request whose key changes before a worker takes it', () => {
  test.for<
    [what: string, method: string, pathOf: (made: { links: { self: string } }) => string, body: unknown]
  >([
    ['a run', 'POST', ({ links }) => `${links.self}/run`, ''],
    [
      ...(['a batch', 'POST', () => '/api/batches'] as const),
      { operation: 'market.product', items: [{ domain: 1, asin: 'B000000001' }] },
    ],
  ])('is refused: %s', async ([, method, pathOf, body], { souk, account, client }) => {
    const { accountId } = account;
    const schedule = await createSchedule(client, threeProducts());
    const queue = batchQueueOf(souk);
    const answers: unknown[] = [];
    for (const end of ['revoked', 'scoped'] as const) {
      const keyed = await keyWith(souk, accountId, { capMonth: 100 });
      await queue.pause();
      const reply = keyed.client.get(pathOf(schedule), { method, body });
      await expect.poll(() => queue.getWaitingCount()).toBe(1);
      const now = souk.clock.now();
      if (end === 'revoked') await revoke(souk, accountId, keyed);
      else
        await changeKey(souk.database, accountId, keyed.id, now, (key) => ({
          ...key,
          scopes: ['schedules', 'batches'],
        }));
      await queue.resume();
      const { status, json } = await reply;
      answers.push([status, json.code]);
    }
    expect(answers).toEqual([
      [403, '4003'],
      [403, 'KEY_SCOPE_MISSING'],
    ]);
    expect((await client.get(schedule.links.self)).json.data).toEqual(schedule);
    expect((await client.get('/api/schedules')).json.data.schedules).toHaveLength(1);
    expect((await client.get('/api/batches')).json.data.batches).toEqual([]);
  });
});

describe('a retry of a batch', () => {
  test('counts for the key that retries it, and needs the scope of its operation', async ({
    souk,
    account,
    client,
    upstream,
  }) => {
    upstream.on('product', () => ({ status: 400, json: { error: { type: 'invalidParameter' } } }));
    const items = [newAsin(), newAsin(), newAsin()].map((asin, i) => ({ domain: 1, asin, history: i % 2 }));
    const batch = await startBatch(client, { operation: 'market.product', items });
    expect(await batchOnce(souk, client, batch, isFinished, 5_000)).toMatchObject({ counts: { failed: 3 } });
    upstream.on('product', knowsEveryProduct);
    const path = `/api/batches/${batch.batchId}/retry`;
    const sellers = await keyWith(souk, account.accountId, { scopes: ['read', 'batches', 'sellers'] });
    const OUT_OF_SCOPE = [403, 'KEY_SCOPE_MISSING', ['products']];
    expect(await refusalBy(sellers.client, path, 'POST', '')).toEqual(OUT_OF_SCOPE);
    expect(await refusalBy(sellers.client, batch.links.self, 'DELETE')).toEqual(OUT_OF_SCOPE);
    const capped = await keyWith(souk, account.accountId, CAPPED);
    expect((await capped.client.post(path, '')).status).toBe(202);
    expect(await waitsForCap(souk, client, batch)).toEqual(CAP_HOLDS);
    expect(await usedBy(capped)).toBe(1);
  });
});
