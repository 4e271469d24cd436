import { expect, test } from 'vitest';
import { quotaSnapshot } from '../../src/billing/quota.ts';
import { DAY_MS } from '../../src/platform/durations.ts';
import { type BilledAccount, type Billing, billingOfFile, OFF_PEAK } from '../support/billing.ts';

const NOW = Date.parse('2026-03-10T10:20:30.000Z');
const inDays = (days: number) => new Date(NOW + days * DAY_MS);

const billing = await billingOfFile({ start: NOW });

async function warningOf({ keyHash, accountId }: BilledAccount): Promise<string | null> {
  const snapshot = await quotaSnapshot({ ...billing, offPeak: OFF_PEAK }, { keyHash, accountId }, NOW);
  return snapshot.keyWarning;
}

type Grants = NonNullable<Parameters<Billing['account']>[0]>;

const endOf = (wallet: string, at: string) =>
  `The ${wallet} plan ends at ${at}, and no other plan follows it.`;

test.each<[string, Grants, string | null]>([
  [
    'nothing if neither a subscription nor a pack ends soon',
    { subscriptions: [{}], packs: [{ units: 5 }] },
    null,
  ],
  ['nothing for an account without grants', {}, null],
  [
    'a subscription that ends within seven days',
    { subscriptions: [{ wallet: 'off_peak', endsAt: inDays(7) }] },
    endOf('off-peak', '2026-03-17T10:20:30.000Z'),
  ],
  [
    'nothing for a subscription that ends in more than seven days',
    { subscriptions: [{ endsAt: new Date(inDays(7).getTime() + 1) }] },
    null,
  ],
  [
    'nothing for a subscription that another of its wallet follows without a gap',
    { subscriptions: [{ endsAt: inDays(3) }, { startsAt: inDays(3), endsAt: inDays(33) }] },
    null,
  ],
  [
    'a subscription that another follows after a gap of a day',
    { subscriptions: [{ endsAt: inDays(3) }, { startsAt: inDays(4), endsAt: inDays(33) }] },
    endOf('general', '2026-03-13T10:20:30.000Z'),
  ],
  [
    'a subscription that only one of the other wallet follows',
    {
      subscriptions: [{ endsAt: inDays(3) }, { wallet: 'off_peak', startsAt: inDays(3), endsAt: inDays(33) }],
    },
    endOf('general', '2026-03-13T10:20:30.000Z'),
  ],
  [
    'the end of a subscription rather than an earlier end of the last pack',
    { subscriptions: [{ endsAt: inDays(5) }], packs: [{ units: 5, validUntil: inDays(2) }] },
    endOf('general', '2026-03-15T10:20:30.000Z'),
  ],
  [
    'the end of the last packs',
    { packs: [2, 6].map((days) => ({ units: 5, validUntil: inDays(days) })) },
    'The last pack ends at 2026-03-16T10:20:30.000Z.',
  ],
  [
    'nothing for a pack that ends soon if a later pack follows it',
    {
      packs: [
        { units: 5, validUntil: inDays(2) },
        { units: 5, validFrom: inDays(2), validUntil: inDays(9) },
      ],
    },
    null,
  ],
])('warns of %s', async (_, grants, warning) => {
  expect(await warningOf(await billing.account(grants))).toBe(warning);
});

test('warns the user of a replaced key before any other warning, and no other user', async () => {
  const account = await billing.account({ subscriptions: [{ endsAt: inDays(1) }] });
  await billing.database.query(
    'update api_keys set expires_at = $2, rotated_at = created_at where hash = $1',
    [account.keyHash, new Date(NOW + 30 * 60_000)],
  );
  expect(await warningOf(account)).toBe(
    'This key was replaced and stops working at 2026-03-10T10:50:30.000Z.',
  );
});

test('warns when less than a tenth of the units of the packs are left', async () => {
  const account = await billing.account({ packs: [{ units: 60 }, { units: 40 }] });
  await billing.admit(account, 90);
  expect(await warningOf(account)).toBeNull();
  await billing.admit(account, 1);
  expect(await warningOf(account)).toBe('Less than 10 % of the units of the packs are left: 9 of 100.');
});

test("warns when less than a tenth of the month's units are left", async () => {
  const startsAt = new Date('2026-03-05');
  const account = await billing.account({ subscriptions: [{ monthlyLimit: 100, quantity: 2, startsAt }] });
  await billing.admit(account, 180);
  expect(await warningOf(account)).toBeNull();
  await billing.admit(account, 1);
  expect(await warningOf(account)).toBe(
    'Less than 10 % of the units are left in the month of the general plan, ' +
      'which ends at 2026-04-05T00:00:00.000Z: 19 of 200.',
  );
});
