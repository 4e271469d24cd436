import { expect, onTestFinished } from 'vitest';
import { newAsin } from '../../support/answers.ts';
import { openReceiver, verified } from '../../support/receiver.ts';
import {
  comesAbout,
  createSchedule,
  ended,
  passHour,
  productsHourly,
  runsMade,
} from '../../support/schedules.ts';
import { test } from '../../support/souk-test.ts';
import { webhookCustomer } from '../../support/webhooks.ts';

test.override('soukOptions', { workers: 2 });

test('sends one signed message for each finished run', async ({ souk, upstream: _ }) => {
  const receiver = await openReceiver();
  onTestFinished(() => receiver.close());
  const { client, secret } = await webhookCustomer(souk);
  const batch = { ...productsHourly([newAsin(), newAsin()]).batch, webhook: `${receiver.url}/hook` };
  const schedule = await createSchedule(client, productsHourly([], { batch }));
  const received: string[] = [];
  for (let run = 1; run <= 3; run += 1) {
    passHour(souk);
    const [newest] = await runsMade(souk, client, schedule, run);
    const view = await ended(souk, client, newest ?? { batchId: null });
    // Arrival is not enough: if time moved before the sender has stored the outcome, the sender would count as dead.
    const delivered = async () => (await client.get('/api/webhooks/deliveries?state=delivered')).json.data;
    await comesAbout(souk, async () => (await delivered()).deliveries.length >= run);
    const message = receiver.received[run - 1];
    if (!message) throw new Error('no message arrived');
    const event = verified(message, secret, souk.clock.now()) as {
      type: string;
      data: Record<string, unknown>;
    };
    expect(event).toMatchObject({
      type: 'batch.completed',
      data: { batchId: newest?.batchId, state: 'done' },
    });
    expect(event.data).toMatchObject({ scheduleId: schedule.scheduleId, counts: view.counts });
    received.push(String(event.data.batchId));
  }
  souk.clock.advance(60_000);
  await runsMade(souk, client, schedule, 3);
  expect(receiver.received).toHaveLength(3);
  expect(new Set(receiver.ids()).size).toBe(3);
  expect(new Set(received).size).toBe(3);
});
