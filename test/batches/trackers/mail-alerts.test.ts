import { expect } from 'vitest';
import { insertAlerts, queueAlertMessages } from '../../../src/batches/trackers/alert.ts';
import { createTestKey } from '../../../src/billing/test-wallet.ts';
import { WEBHOOK_LIMITS } from '../../../src/outbox/webhooks/webhook-limits.ts';
import { inTransaction } from '../../../src/platform/db/transaction.ts';
import { MINUTE_MS } from '../../../src/platform/durations.ts';
import { newAsin } from '../../support/answers.ts';
import type { Souk } from '../../support/souk.ts';
import { test } from '../../support/souk-test.ts';
import { createTracker, everyTwoHours } from '../../support/trackers.ts';

const BATCH = '019b2c3d-4e5f-7a6b-8c7d-9e0f1a2b3c4d';

async function alert({ database, clock }: Souk, trackerId: string, howMany: number): Promise<void> {
  const alerts = Array.from({ length: howMany }, () => ({
    trackerId,
    batchId: BATCH,
    item: newAsin(),
    title: 'A <thing>',
    createdAt: clock.now(),
    condition: { type: 'price_below', price: 'new', value: 2_000 } as const,
    before: 2_500,
    after: 1_999,
    threshold: 2_000,
  }));
  await inTransaction(database, (client) => insertAlerts(client, alerts));
}

test.override('soukOptions', ({ demo }) => ({ testUrl: demo.url }));

interface Facts {
  name: string;
  alerts: { title: string; text: string }[];
  more: number;
}

async function mailsOf({ database, clock }: Souk, accountId: number): Promise<Facts[]> {
  await queueAlertMessages(database, WEBHOOK_LIMITS, clock.now());
  // A tracker that the worker of the service reads at this moment is skipped; its mail is there when the worker lets go of it.
  await database.query('select id from trackers for share');
  const { rows } = await database.query<{ facts: string }>(
    `select payload as facts from outbox where account_id = $1 and kind = 'tracker_alerts' order by id`,
    [accountId],
  );
  return rows.map(({ facts }) => JSON.parse(facts) as Facts);
}

test('a tracker sends the alerts since its last mail, at most once an hour, and up to 100', async ({
  souk,
  account: { accountId },
  client,
}) => {
  const { trackerId } = await createTracker(client, everyTwoHours([newAsin()], { notify: ['email'] }));
  expect(await mailsOf(souk, accountId)).toEqual([]);
  await alert(souk, trackerId, 1);
  const line = { title: 'A <thing>', text: 'New price below $20.00: $19.99, before: $25.00' };
  const first = { name: 'Cheap things', alerts: [line], more: 0 };
  expect(await mailsOf(souk, accountId)).toMatchObject([first]);
  souk.clock.advance(59 * MINUTE_MS);
  await alert(souk, trackerId, 120);
  expect(await mailsOf(souk, accountId)).toHaveLength(1);
  souk.clock.advance(MINUTE_MS);
  const [, second] = await mailsOf(souk, accountId);
  expect([second?.alerts.length, second?.more]).toEqual([100, 20]);
  souk.clock.advance(60 * MINUTE_MS);
  expect(await mailsOf(souk, accountId)).toHaveLength(2);
});

test('a tracker that has sent no mails sends none of the alerts that are older than a day', async ({
  souk,
  account: { accountId, key },
  client,
}) => {
  const { trackerId } = await createTracker(client, everyTwoHours([newAsin()]));
  await alert(souk, trackerId, 1);
  expect(await mailsOf(souk, accountId)).toEqual([]);
  souk.clock.advance(24 * 60 * MINUTE_MS);
  await client.raw(`/api/trackers/${trackerId}`, {
    method: 'PATCH',
    headers: { 'x-api-key': key },
    body: { notify: ['webhook', 'email'] },
  });
  expect(await mailsOf(souk, accountId)).toEqual([]);
  await alert(souk, trackerId, 1);
  expect(await mailsOf(souk, accountId)).toHaveLength(1);
});

test('a tracker of a test key sends its alerts to the address of the owner, marked as test data', async ({
  souk,
  account: { accountId },
}) => {
  const tester = souk.clientOf(await createTestKey(souk.database, accountId, souk.clock.now()));
  const { trackerId } = await createTracker(tester, everyTwoHours([newAsin()], { notify: ['email'] }));
  await alert(souk, trackerId, 1);
  expect(await mailsOf(souk, accountId)).toMatchObject([{ name: 'Cheap things (test data)' }]);
});
