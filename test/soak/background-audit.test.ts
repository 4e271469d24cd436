import { afterAll, beforeEach, expect } from 'vitest';
import { HOUR_MS } from '../../src/platform/durations.ts';
import { knowsEveryProduct } from '../support/answers.ts';
import { asinsFrom, startBatch } from '../support/batches.ts';
import { openReceiver, type Receiver } from '../support/receiver.ts';
import { comesAbout, createSchedule, ended, productsHourly, runsMade } from '../support/schedules.ts';
import { auditBackground, auditMessages, auditTicks, auditWanted } from '../support/soak/background-audit.ts';
import { auditResults } from '../support/soak/batch-results.ts';
import type { WantedBatch } from '../support/soak/batches.ts';
import type { SoakMessage } from '../support/soak/receiver.ts';
import type { SetTick } from '../support/soak/schedules.ts';
import type { Souk } from '../support/souk.ts';
import { test } from '../support/souk-test.ts';
import { type WebhookCustomer, webhookCustomer } from '../support/webhooks.ts';

let souk: Souk;
let receiver: Receiver;
let customer: WebhookCustomer;
let wanted: WantedBatch;
let tick: SetTick;
let messages: SoakMessage[];

test.beforeAll(async ({ souk: opened }) => {
  souk = opened;
  receiver = await openReceiver();
  customer = await webhookCustomer(souk);
  souk.upstream.on('product', knowsEveryProduct);
  const { client, accountId } = customer;
  await souk.database.query(`update accounts set name = 'honest-batches' where id = $1`, [accountId]);
  const split = { asins: asinsFrom('B0AUD', 130) };
  const idempotencyKey = 'the first';
  const about = { operation: 'market.product', params: { domain: 1 }, split, webhook: receiver.url };
  const batch = await startBatch(client, { ...about, idempotencyKey });
  await ended(souk, client, batch);
  wanted = { accountId, idempotencyKey, items: 130, batchId: batch.batchId };
  const work = { operation: 'market.product', params: { domain: 1 }, split: { asins: ['B0AUDTICK1'] } };
  const schedule = await createSchedule(
    client,
    productsHourly([], { batch: { ...work, webhook: receiver.url } }),
  );
  souk.clock.advance(HOUR_MS);
  const [run] = await runsMade(souk, client, schedule, 1);
  await ended(souk, client, run ?? { batchId: null });
  tick = { scheduleId: schedule.scheduleId, dueAt: new Date(run?.dueAt ?? 0) };
  const delivered = `select 1 from outbox where state = 'delivered'`;
  await comesAbout(souk, async () => (await souk.database.query(delivered)).rowCount === 2);
  messages = receiver.received.map(({ headers, body }) => {
    const { type, data } = JSON.parse(body) as { type: string; data: { batchId: string } };
    return { id: String(headers['webhook-id']), type, batchId: data.batchId, body, isSigned: true };
  });
  // The audit reads the clock of PostgreSQL, for which all times are past.
  await souk.database.query('update schedules set paused = true, next_due_at = null');
});
afterAll(async () => {
  await receiver.close();
});

let received: SoakMessage[];
beforeEach(() => {
  received = messages.map((message) => ({ ...message }));
});

test('a correct history has no faults', async () => {
  const { database } = souk;
  const account = { accountId: customer.accountId, name: 'honest-batches', key: customer.key };
  expect([
    ...(await auditBackground(database)),
    ...(await auditWanted(database, [wanted])),
    ...(await auditTicks(database, [tick])),
    ...(await auditMessages(database, messages)),
    ...(await auditResults(database, [customer.client.baseUrl], [account])),
  ]).toEqual([]);
});

test.each([
  ['every batch ends', `update batches set finished_at = null`],
  ['a batch that has ended has no call under way', `update batch_calls set state = 'pending'`],
  [
    'the counts of a batch equal the counts of its calls',
    'update batches set done_items = done_items - 1, failed_items = 1',
  ],
  [
    'each item of a batch is in exactly one of its calls',
    'update batch_calls set first_item = first_item + 1 where first_item = 100',
  ],
  [
    'the charge of a batch equals the charges of its calls',
    'update batches set units_charged = units_charged + 1',
  ],
  [
    'a call belongs to one batch',
    'update batch_calls set call_id = (select call_id from batch_calls limit 1)',
  ],
  [
    'every charge of an account with batches only belongs to one of its batches',
    `delete from batches where schedule_id is null`,
  ],
  [
    'a tick has at most one run',
    `drop index schedule_runs_tick; insert into schedule_runs select gen_random_uuid(), schedule_id, due_at, started_at,
       trigger, 'skipped', reason, null from schedule_runs`,
  ],
  ['a started run has a batch, and no other run has one', 'update schedule_runs set batch_id = null'],
  ['a batch of a schedule belongs to one run', 'delete from schedule_runs'],
  ['every schedule that is due has a run', `update schedules set next_due_at = now() - interval '1 second'`],
  ['a batch that has ended has a delivery for its webhook', 'delete from outbox'],
  [
    'the end of a run has one delivery',
    `insert into outbox (id, channel, account_id, kind, recipient, host, payload, next_attempt_at, created_at)
       select gen_random_uuid(), channel, account_id, kind, recipient, host, payload, now(), created_at from outbox`,
  ],
  ['every delivery is delivered', `update outbox set state = 'failed'`],
])('finds a history that breaks the promise: %s', async (promise, tampering) => {
  const client = await souk.database.connect();
  try {
    await client.query('begin');
    await client.query(tampering);
    const found = await auditBackground(client);
    expect(found.map((fault) => fault.promise)).toContain(promise);
  } finally {
    await client.query('rollback');
    client.release();
  }
});

test('reports an accepted batch that is missing or differs', async () => {
  const lost = { ...wanted, idempotencyKey: 'never stored' };
  const smaller = { ...wanted, items: 129 };
  const unknown = { ...lost, batchId: null };
  const items = (await auditWanted(souk.database, [lost, smaller, unknown])).map(({ row }) => row.items);
  expect(items).toEqual([130, 129]);
});

test('reports a tick without a run', async () => {
  const later = { ...tick, dueAt: new Date(tick.dueAt.getTime() + 1) };
  expect(await auditTicks(souk.database, [later])).toHaveLength(1);
});

test('reports messages that are missing, changed, unsigned or unknown', async () => {
  const promises = async () => (await auditMessages(souk.database, received)).map(({ promise }) => promise);
  received.pop();
  expect(await promises()).toEqual(['every delivered message has arrived']);
  received = messages.map((message) => ({ ...message, body: `${message.body} ` }));
  expect(await promises()).toEqual(messages.map(() => 'every attempt sends the same message'));
  received = messages.map((message) => ({ ...message, isSigned: false }));
  expect(await promises()).toEqual(messages.map(() => 'every message is signed and in the log'));
});
