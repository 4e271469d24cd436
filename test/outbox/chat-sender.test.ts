import { expect, onTestFinished } from 'vitest';
import { insertAlerts, queueAlertMessages } from '../../src/batches/trackers/alert.ts';
import { chatTargets, sealChats } from '../../src/batches/trackers/chat.ts';
import { createChatSender } from '../../src/outbox/chat-sender.ts';
import type { Resolve } from '../../src/outbox/webhooks/address-guard.ts';
import { WEBHOOK_LIMITS } from '../../src/outbox/webhooks/webhook-limits.ts';
import { inTransaction } from '../../src/platform/db/transaction.ts';
import { MINUTE_MS } from '../../src/platform/durations.ts';
import { createLogger } from '../../src/platform/log.ts';
import { createSecretBox } from '../../src/platform/secret-box.ts';
import { startOutbox } from '../../workers/background/outbox.ts';
import { newAsin } from '../support/answers.ts';
import type { Souk } from '../support/souk.ts';
import { test } from '../support/souk-test.ts';
import { createTracker, everyTwoHours, trackerNow } from '../support/trackers.ts';

const KEY = 'a key of more than thirty-two characters';
const box = createSecretBox([KEY]);

// The workers of the service send no messages to chats: this test has a sender that resolves the names of chats to its receiver.
test.override('soukOptions', { workers: 0, gateway: { secretKeys: [KEY] } });

const BATCH = '019b2c3d-4e5f-7a6b-8c7d-9e0f1a2b3c4d';
const SECRET = 'T0/B0/a-secret-path';

async function alert({ database, clock }: Souk, trackerId: string, howMany = 1): Promise<void> {
  const alerts = Array.from({ length: howMany }, () => ({
    trackerId,
    batchId: BATCH,
    item: newAsin(),
    title: 'A thing',
    createdAt: clock.now(),
    condition: { type: 'price_below', price: 'new', value: 2_000 } as const,
    before: 2_500,
    after: 1_999,
    threshold: 2_000,
  }));
  await inTransaction(database, (client) => insertAlerts(client, alerts));
}

/** Queues what is due, sends it, and resolves when the attempts are recorded. */
async function sendDue({ database, clock, logLines }: Souk, resolve?: Resolve): Promise<void> {
  await queueAlertMessages(database, WEBHOOK_LIMITS, clock.now());
  const log = createLogger('debug', { write: (line) => void logLines.push(line) });
  const targetsOf: Parameters<typeof createChatSender>[0]['targetsOf'] = (messages) =>
    chatTargets(database, { secretBox: box, publicUrl: 'https://souk.example' }, messages);
  const sender = createChatSender({ clock, allowPrivate: true, targetsOf, ...(resolve && { resolve }) });
  const loop = startOutbox({ database, clock, log }, [sender]);
  onTestFinished(() => loop.close());
  await loop.close();
}

const local: Resolve = async () => [{ address: '127.0.0.1', family: 4 }];

test('alerts about products go to the chat of the tracker, in its form and without its address in any record', async ({
  souk,
  client,
  receiver,
}) => {
  const chat = `http://discord.com:${new URL(receiver.url).port}/api/webhooks/${SECRET}`;
  const tracker = await createTracker(client, everyTwoHours([newAsin()], { chat }));
  const { host } = new URL(chat);
  expect(tracker).toMatchObject({ chat: `${host}/***`, lastChat: null, notify: ['webhook', 'chat'] });
  await alert(souk, tracker.trackerId);
  await sendDue(souk, local);
  const [message] = receiver.received;
  expect(message?.path).toBe(`/api/webhooks/${SECRET}`);
  expect(JSON.parse(message?.body ?? '')).toMatchObject({
    content: expect.stringContaining('- **A thing**: New price below $20.00: $19.99, before: $25.00'),
  });
  expect(message?.body).toContain(`https://souk.example/account/`);
  const now = await trackerNow(client, tracker);
  expect(now.lastChat).toMatchObject({ state: 'delivered', error: null });
  const { rows } = await souk.database.query<{ text: string }>(
    `select coalesce((select json_agg(o) from outbox o)::text, '') || coalesce((select json_agg(t) from trackers t)::text, '') as text`,
  );
  for (const text of [rows[0]?.text, JSON.stringify(now), souk.logLines.join('\n')])
    expect(text).not.toContain('a-secret-path');
});

test('a message that a chat refuses is sent again later, and its last state is shown', async ({
  souk,
  client,
  receiver,
}) => {
  receiver.react(() => 404);
  const tracker = await createTracker(client, everyTwoHours([newAsin()], { chat: `${receiver.url}/x` }));
  await alert(souk, tracker.trackerId);
  await sendDue(souk);
  const error = 'The receiver responded with status 404.';
  expect((await trackerNow(client, tracker)).lastChat).toMatchObject({ state: 'pending', error });
  receiver.react(() => 200);
  souk.clock.advance(5_000);
  await sendDue(souk);
  expect(receiver.received).toHaveLength(2);
  expect((await trackerNow(client, tracker)).lastChat).toMatchObject({ state: 'delivered', error: null });
});

test('sends at most one message a minute, with up to 20 alerts, and none after the address is gone', async ({
  souk,
  client,
  receiver,
}) => {
  const tracker = await createTracker(client, everyTwoHours([newAsin()], { chat: `${receiver.url}/x` }));
  await alert(souk, tracker.trackerId, 25);
  await sendDue(souk);
  await alert(souk, tracker.trackerId);
  await sendDue(souk);
  expect(receiver.received).toHaveLength(1);
  expect(receiver.received[0]?.body).toContain('25 alerts: Cheap things');
  expect(receiver.received[0]?.body).toContain('5 more');
  souk.clock.advance(MINUTE_MS);
  await queueAlertMessages(souk.database, WEBHOOK_LIMITS, souk.clock.now());
  const gone = await client.get(tracker.links.self, { method: 'PATCH', body: { chat: null } });
  expect(gone.json.data).toMatchObject({ chat: null });
  await sendDue(souk);
  expect(receiver.received).toHaveLength(1);
  const { rowCount } = await souk.database.query(
    `select from outbox where channel = 'chat' and payload like '%' || $1 || '%' and state = 'pending'`,
    [tracker.trackerId],
  );
  expect(rowCount).toBe(0);
});

test('addresses are encrypted with the first key', async ({ souk, client, receiver }) => {
  const tracker = await createTracker(client, everyTwoHours([newAsin()], { chat: `${receiver.url}/x` }));
  const rotated = createSecretBox(['another key of more than thirty-two characters', KEY]);
  await sealChats(souk.database, rotated);
  const { rows } = await souk.database.query<{ chat: string }>('select chat from trackers where id = $1', [
    tracker.trackerId,
  ]);
  expect(rows[0]?.chat.startsWith(rotated.prefix ?? '-')).toBe(true);
  expect(box.open(rows[0]?.chat ?? '', `chat of tracker ${tracker.trackerId}`)).toBeNull();
});
