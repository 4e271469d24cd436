import { createHash } from 'node:crypto';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { type BilledAccount, billingOfFile, refusalOf } from '../support/billing.ts';
import { repetitions } from '../support/repetitions.ts';

const billing = await billingOfFile();

const packs = fc.array(
  fc.record({ units: fc.integer({ min: 1, max: 6 }), rate: fc.integer({ min: 1, max: 8 }) }),
  { minLength: 1, maxLength: 3 },
);
const subscription = fc.record({
  minuteLimit: fc.option(fc.integer({ min: 1, max: 4 }), { nil: null }),
  dailyLimit: fc.option(fc.integer({ min: 1, max: 8 }), { nil: null }),
});

/** Returns the outcome of each call, admitted in one batch or one by one in the order of the charges. */
async function outcomes(account: BilledAccount, units: readonly number[], together: boolean) {
  const calls = units.map((cost, i) => {
    const chargeId =
      i.toString(16).padStart(4, '0') + createHash('md5').update(String(i)).digest('hex').slice(4);
    return () =>
      billing.admit(account, cost, { chargeId }).then(
        (admission) => ({ kind: admission.kind, rate: 'rate' in admission ? admission.rate : null }),
        (error) => refusalOf(Promise.reject(error)),
      );
  });
  if (together) return Promise.all(calls.map((call) => call()));
  const results = [];
  for (const call of calls) results.push(await call());
  return results;
}

async function leftIn({ accountId }: BilledAccount) {
  const { rows } = await billing.database.query(
    `select array(select remaining_units::integer from packs where account_id = $1 order by valid_until) as packs,
       array(select day_used::integer from subscriptions where account_id = $1) as day, pack_minute_used
     from accounts where id = $1`,
    [accountId],
  );
  return rows[0];
}

test('after a call of a batch empties the fastest pack, the next call has the rate limit of the other packs', async () => {
  const [sooner, later] = [10, 20].map((days) => new Date(billing.clock.now() + days * 86_400_000));
  const account = await billing.account({
    packs: [
      { units: 3, rate: 5, ...(sooner ? { validUntil: sooner } : {}) },
      { units: 50, rate: 2, ...(later ? { validUntil: later } : {}) },
    ],
  });
  const kinds = (await outcomes(account, [1, 1, 1, 1, 1], true)).map(({ kind }) => kind);
  expect(kinds).toEqual(['started', 'started', 'started', 'QUOTA_MINUTE_EXCEEDED', 'QUOTA_MINUTE_EXCEEDED']);
});

test('calls admitted in one batch have the same outcomes as calls admitted one by one', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(subscription, { maxLength: 1 }),
      packs,
      fc.array(fc.integer({ min: 1, max: 5 }), { minLength: 2, maxLength: 10 }),
      async (subscriptions, granted, units) => {
        billing.clock.advance(60_000);
        const grants = {
          subscriptions,
          packs: granted.map((pack, i) => ({
            ...pack,
            validUntil: new Date(billing.clock.now() + (i + 1) * 86_400_000),
          })),
        };
        const [batched, single] = [await billing.account(grants), await billing.account(grants)];
        expect(await outcomes(batched, units, true)).toEqual(await outcomes(single, units, false));
        expect(await leftIn(batched)).toEqual(await leftIn(single));
      },
    ),
    { numRuns: repetitions(10) },
  );
});
