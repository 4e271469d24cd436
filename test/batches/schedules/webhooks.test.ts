import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { knowsEveryProduct, newAsin } from '../../support/answers.ts';
import { openReceiver, type Receiver, verified } from '../../support/receiver.ts';
import {
  comesAbout,
  createSchedule,
  ended,
  HOUR_MS,
  productsHourly,
  runsMade,
} from '../../support/schedules.ts';
import { openSouk, type Souk } from '../../support/souk.ts';
import { webhookCustomer } from '../../support/webhooks.ts';

let souk: Souk;
let receiver: Receiver;
beforeAll(async () => {
  souk = await openSouk({ workers: 2 });
});
afterAll(() => souk.close());
beforeEach(async () => {
  receiver = await openReceiver();
  souk.upstream.on('product', knowsEveryProduct);
});
afterEach(() => receiver.close());

test('each run tells its webhook once that it has finished, signed, and a run that was skipped tells nothing', async () => {
  const { client, secret } = await webhookCustomer(souk);
  const batch = { ...productsHourly([newAsin(), newAsin()]).batch, webhook: `${receiver.url}/hook` };
  const schedule = await createSchedule(client, productsHourly([], { batch }));
  const told: string[] = [];
  for (let run = 1; run <= 3; run += 1) {
    souk.clock.advance(HOUR_MS - (souk.clock.now() % HOUR_MS));
    const [newest] = await runsMade(souk, client, schedule, run);
    const view = await ended(souk, client, newest ?? { batchId: null });
    // Not when it has arrived: time that leaps on before that is written down makes its sender look dead.
    const delivered = async () => (await client.get('/api/webhooks/deliveries?state=delivered')).json.data;
    await comesAbout(souk, async () => (await delivered()).deliveries.length >= run);
    const message = receiver.received[run - 1];
    if (!message) throw new Error('nothing was told');
    const event = verified(message, secret, souk.clock.now()) as {
      type: string;
      data: Record<string, unknown>;
    };
    expect(event).toMatchObject({
      type: 'batch.completed',
      data: { batchId: newest?.batchId, state: 'done' },
    });
    expect(event.data).toMatchObject({ scheduleId: schedule.scheduleId, counts: view.counts });
    told.push(String(event.data.batchId));
  }
  souk.clock.advance(60_000);
  await runsMade(souk, client, schedule, 3);
  expect(receiver.received).toHaveLength(3);
  expect(new Set(receiver.ids()).size).toBe(3);
  expect(new Set(told).size).toBe(3);
});
