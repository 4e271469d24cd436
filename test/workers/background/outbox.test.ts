import { afterEach, beforeEach, expect, onTestFinished } from 'vitest';
import { CLAIM_MS } from '../../../src/outbox/webhooks/webhook-sender.ts';
import { openDatabase } from '../../../src/platform/db/pool.ts';
import { inTransaction } from '../../../src/platform/db/transaction.ts';
import { HOUR_MS } from '../../../src/platform/durations.ts';
import { createLogger } from '../../../src/platform/log.ts';
import { RETRY_DELAYS_MS } from '../../../src/platform/retry-delays.ts';
import { openReceiver, type Receiver, verified } from '../../support/receiver.ts';
import { gate } from '../../support/scripted-upstream.ts';
import { type Souk, showLogOnFailure } from '../../support/souk.ts';
import { test } from '../../support/souk-test.ts';
import {
  enqueueEvent,
  sendDue,
  startSending,
  storedDelivery,
  type WebhookCustomer,
  webhookCustomer,
} from '../../support/webhooks.ts';

test.override('soukOptions', { workers: 0 });
let souk: Souk;
let customer: WebhookCustomer;
let receiver: Receiver;
test.beforeAll(async ({ souk: opened }) => {
  souk = opened;
});
beforeEach(async () => {
  showLogOnFailure(souk);
  customer = await webhookCustomer(souk);
  receiver = await openReceiver();
});
afterEach(async () => {
  // Deliveries of one test must not be sent in another.
  await souk.database.query('delete from outbox');
  await receiver.close();
});

/** Lets the receiver answer only when the test opens `answer`. */
function holdAnswers() {
  const [arrived, answer] = [gate(), gate()];
  receiver.react(async () => {
    arrived.open();
    await answer.reached;
    return 200;
  });
  return { arrived, answer };
}

const deliveryIs = (id: string, state: string) =>
  expect.poll(async () => (await storedDelivery(souk, id)).state).toBe(state);

test('delivers an event signed with the secret of its account at the time of the attempt', async () => {
  const id = await enqueueEvent(souk, customer.accountId, `${receiver.url}/in?token=hush-hush`, { units: 7 });
  startSending(souk);
  await deliveryIs(id, 'delivered');
  expect(receiver.ids()).toEqual([id]);
  for (const message of receiver.received) {
    expect(verified(message, customer.secret, souk.clock.now())).toEqual({
      type: 'thing.happened',
      timestamp: new Date(souk.clock.now()).toISOString(),
      livemode: true,
      data: { units: 7 },
    });
  }
});

test('finds a later event within a second, and immediately when woken', async () => {
  const sending = startSending(souk);
  const first = await enqueueEvent(souk, customer.accountId, receiver.url);
  // The first step may be in progress or have ended.
  sending.wake();
  await deliveryIs(first, 'delivered');
  const second = await enqueueEvent(souk, customer.accountId, receiver.url);
  await souk.clock.until('outbox step');
  souk.clock.advance(1_000);
  await deliveryIs(second, 'delivered');
  expect(receiver.ids()).toEqual([first, second]);
});

test('delivers after the receiver was down for a day, each attempt signed for its own time', async () => {
  const id = await enqueueEvent(souk, customer.accountId, receiver.url, { one: 1 });
  receiver.react(() => 503);
  const began = souk.clock.now();
  await sendDue(souk);
  for (const [retry, delayMs] of RETRY_DELAYS_MS.entries()) {
    expect(receiver.received).toHaveLength(retry + 1);
    const { state, next_attempt_at, last_status, last_error } = await storedDelivery(souk, id);
    expect([state, last_status, last_error]).toEqual([
      'pending',
      503,
      'The receiver responded with status 503.',
    ]);
    expect(next_attempt_at?.getTime()).toBe(souk.clock.now() + delayMs);
    // It is not sent before its time.
    souk.clock.advance(delayMs - 1);
    await sendDue(souk);
    expect(receiver.received).toHaveLength(retry + 1);
    if (retry === RETRY_DELAYS_MS.length - 1) receiver.react(() => 200);
    souk.clock.advance(1);
    await sendDue(souk);
  }
  expect((await storedDelivery(souk, id)).state).toBe('delivered');
  expect(souk.clock.now() - began).toBeGreaterThan(24 * HOUR_MS);
  expect(receiver.ids()).toEqual(RETRY_DELAYS_MS.map(() => id).concat(id));
  const times = receiver.received.map(({ headers }) => Number(headers['webhook-timestamp']) * 1000);
  receiver.received.forEach((message, i) => {
    expect(verified(message, customer.secret, times[i] ?? 0)).toMatchObject({ data: { one: 1 } });
  });
  expect(times.at(-1)).toBe(Math.floor(souk.clock.now() / 1000) * 1000);
});

test('fails a delivery after the last retry and sends it no more', async () => {
  const id = await enqueueEvent(souk, customer.accountId, receiver.url);
  receiver.react(() => 500);
  await sendDue(souk);
  for (const delayMs of RETRY_DELAYS_MS) {
    expect((await storedDelivery(souk, id)).state).toBe('pending');
    souk.clock.advance(delayMs);
    await sendDue(souk);
  }
  expect(await storedDelivery(souk, id)).toMatchObject({
    state: 'failed',
    attempts: 8,
    next_attempt_at: null,
  });
  souk.clock.advance(100 * HOUR_MS);
  await sendDue(souk);
  expect(receiver.received).toHaveLength(8);
});

test('signs with both secrets for a day after a rotation, then with the new one only', async () => {
  const { client, accountId, secret: old } = customer;
  const { json } = await client.post('/api/webhooks/secret', {});
  const { secret } = json.data;
  souk.clock.advance(24 * HOUR_MS - 1);
  await enqueueEvent(souk, accountId, receiver.url);
  await sendDue(souk);
  souk.clock.advance(1);
  await enqueueEvent(souk, accountId, receiver.url);
  await sendDue(souk);

  const [during, after] = receiver.received;
  if (!during || !after) throw new Error('Two messages were expected.');
  expect(during.headers['webhook-signature']).toMatch(/^v1,\S+ v1,\S+$/);
  expect(after.headers['webhook-signature']).toMatch(/^v1,\S+$/);
  const now = souk.clock.now();
  for (const holder of [old, secret]) expect(verified(during, holder, now)).toMatchObject({ data: {} });
  expect(verified(after, secret, now)).toMatchObject({ data: {} });
  expect(() => verified(after, old, now)).toThrow('No matching signature');
});

test('signs the events of each account with its own secret', async () => {
  const other = await webhookCustomer(souk);
  const ids = [
    await enqueueEvent(souk, customer.accountId, receiver.url),
    await enqueueEvent(souk, other.accountId, receiver.url),
  ];
  startSending(souk);
  for (const id of ids) await deliveryIs(id, 'delivered');
  const secretOf = new Map([
    [ids[0], customer.secret],
    [ids[1], other.secret],
  ]);
  for (const message of receiver.received) {
    const secret = secretOf.get(String(message.headers['webhook-id'])) ?? '';
    expect(verified(message, secret, souk.clock.now())).toMatchObject({ type: 'thing.happened' });
  }
  expect(receiver.received).toHaveLength(2);
});

test('finishes the delivery in progress and starts no other when closed', async () => {
  const { arrived, answer } = holdAnswers();
  const limits = { atOnce: 1, perHost: 1, perAccount: 1, hostsPerAccount: 9 };
  const ids = [
    await enqueueEvent(souk, customer.accountId, receiver.url),
    await enqueueEvent(souk, customer.accountId, receiver.url),
  ];
  const sending = startSending(souk, { limits });
  await arrived.reached;
  const closing = sending.close();
  answer.open();
  await closing;
  const states = await Promise.all(ids.map(async (id) => (await storedDelivery(souk, id)).state));
  expect(states.sort()).toEqual(['delivered', 'pending']);
  expect(receiver.received).toHaveLength(1);
  // The next process sends the rest.
  startSending(souk);
  for (const id of ids) await deliveryIs(id, 'delivered');
  expect(receiver.received).toHaveLength(2);
});

test('sends a message again under the same id if the process died before recording the attempt', async () => {
  const { arrived, answer } = holdAnswers();
  const id = await enqueueEvent(souk, customer.accountId, receiver.url, { precious: true });
  // The connections of the stopped process are closed before the answer arrives.
  const lines: string[] = [];
  const log = createLogger('warn', { write: (line) => void lines.push(line) });
  const connections = openDatabase(souk.databaseUrl, log);
  const dying = startSending(souk, { database: connections, log });
  await arrived.reached;
  await connections.end();
  answer.open();
  await expect.poll(() => lines.join('')).toContain('failed to send a message or to record the attempt');
  await dying.close();
  expect(await storedDelivery(souk, id)).toMatchObject({ state: 'pending', attempts: 0 });

  souk.clock.advance(CLAIM_MS - 1);
  await sendDue(souk);
  expect(receiver.received).toHaveLength(1);
  souk.clock.advance(1);
  await sendDue(souk);
  expect(await storedDelivery(souk, id)).toMatchObject({ state: 'delivered', attempts: 1 });
  expect(receiver.ids()).toEqual([id, id]);
  expect(new Set(receiver.received.map(({ body }) => body)).size).toBe(1);
});

test('keeps other receivers and accounts moving while one receiver does not answer', async () => {
  const slow = await openReceiver();
  slow.react(() => 'handled');
  const other = await webhookCustomer(souk);
  for (let i = 0; i < 30; i += 1) await enqueueEvent(souk, customer.accountId, slow.url);
  for (let i = 0; i < 30; i += 1) await enqueueEvent(souk, other.accountId, slow.url);
  souk.clock.advance(1);
  const prompt = [
    await enqueueEvent(souk, customer.accountId, receiver.url),
    await enqueueEvent(souk, other.accountId, receiver.url),
  ];
  const limits = { atOnce: 6, perHost: 2, perAccount: 4, hostsPerAccount: 9 };
  startSending(souk, { limits });
  for (const id of prompt) await deliveryIs(id, 'delivered');
  // The limit for one host, over all accounts.
  expect(slow.received).toHaveLength(2);
  await slow.close();
});

test('leaves slots for other accounts while many receivers of one account do not answer', async () => {
  const slow = await Promise.all(Array.from({ length: 4 }, () => openReceiver()));
  for (const one of slow) {
    one.react(() => 'handled');
    for (let i = 0; i < 5; i += 1) await enqueueEvent(souk, customer.accountId, one.url);
  }
  souk.clock.advance(1);
  const other = await webhookCustomer(souk);
  const id = await enqueueEvent(souk, other.accountId, receiver.url);
  startSending(souk, { limits: { atOnce: 4, perHost: 2, perAccount: 3, hostsPerAccount: 9 } });
  await deliveryIs(id, 'delivered');
  const held = () => slow.reduce((sum, { received }) => sum + received.length, 0);
  expect(held()).toBe(3);
  await Promise.all(slow.map((one) => one.close()));
});

test('sends nothing for an account without a signing secret', async () => {
  const { accountId } = await souk.account();
  const id = await enqueueEvent(souk, accountId, receiver.url);
  await sendDue(souk);
  expect(await storedDelivery(souk, id)).toMatchObject({ last_error: 'The account has no signing secret.' });
  expect(receiver.received).toEqual([]);
});

test('delivers after the database was down', async () => {
  startSending(souk);
  await souk.database.query('alter table outbox rename to outbox_away');
  souk.clock.advance(1_000);
  await expect.poll(() => souk.logLines.join('')).toContain('failed to look for due messages');
  await souk.database.query('alter table outbox_away rename to outbox');
  const id = await enqueueEvent(souk, customer.accountId, receiver.url);
  await expect
    .poll(async () => {
      souk.clock.advance(1_000);
      return (await storedDelivery(souk, id)).state;
    })
    .toBe('delivered');
});

test('sends a message once although its row is locked when the attempt is recorded', async () => {
  const { reached, open } = gate();
  receiver.react(async () => {
    await reached;
    return 204;
  });
  // With the limits of a worker: a statement ends when it has waited for a lock for a second.
  const database = openDatabase(souk.databaseUrl, createLogger('silent'));
  onTestFinished(() => database.end());
  const id = await enqueueEvent(souk, customer.accountId, receiver.url);
  startSending(souk, { database });
  await expect.poll(() => receiver.ids()).toEqual([id]);
  const isWaiting = async () => {
    const { rowCount } = await souk.database.query(
      "select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'",
    );
    return rowCount === 1;
  };
  await inTransaction(souk.database, async (client) => {
    await client.query('select from outbox where id = $1 for update', [id]);
    open();
    await expect.poll(isWaiting, { interval: 5 }).toBe(true);
    await expect.poll(isWaiting, { interval: 5 }).toBe(false);
  });
  await expect
    .poll(async () => {
      souk.clock.advance(100);
      return (await storedDelivery(souk, id)).state;
    })
    .toBe('delivered');
  expect(receiver.ids()).toEqual([id]);
});

test('logs no secrets and no full addresses', () => {
  const log = souk.logLines.join('');
  expect(log).toContain('message attempted');
  expect(log).not.toContain('whsec_');
  expect(log).not.toContain('hush-hush');
});
