import fc from 'fast-check';
import { expect, test } from 'vitest';
import { DAY_MS } from '../../src/platform/durations.ts';
import { type BilledAccount, billingOfFile, refusalOf } from '../support/billing.ts';
import { billingModel } from '../support/billing-model.ts';
import { repetitions } from '../support/repetitions.ts';
import { oneStep } from '../support/steps.ts';

const billing = await billingOfFile();

const limit = (min: number, max: number) => fc.option(fc.integer({ min, max }), { nil: null });
const wallet = fc.constantFrom('general' as const, 'off_peak' as const);
const grants = fc.record({
  subscriptions: fc.uniqueArray(
    fc.record({ wallet, minuteLimit: limit(1, 6), dailyLimit: limit(5, 60), monthlyLimit: limit(20, 120) }),
    { maxLength: 2, selector: (subscription) => subscription.wallet },
  ),
  packs: fc.array(
    fc.record({ wallet, units: fc.integer({ min: 1, max: 40 }), rate: fc.integer({ min: 1, max: 6 }) }),
    { maxLength: 3 },
  ),
});

type Step =
  | { kind: 'admit'; units: number; answered: boolean }
  | { kind: 'end'; pick: number; units: number; release: boolean }
  | { kind: 'refund'; pick: number }
  | { kind: 'wait'; ms: number };
const step: fc.Arbitrary<Step> = fc.oneof(
  oneStep(6, 'admit', { units: fc.integer({ min: 1, max: 25 }), answered: fc.boolean() }),
  oneStep(4, 'end', { pick: fc.nat(), units: fc.integer({ min: 0, max: 30 }), release: fc.boolean() }),
  oneStep(2, 'refund', { pick: fc.nat() }),
  oneStep(2, 'wait', {
    ms: fc.constantFrom(1_000, 60_000, 6 * 3_600_000, DAY_MS, 20 * DAY_MS),
  }),
);

/** The first of a month, so that the model's months are calendar months. */
const START = new Date('2026-01-01T00:00:00Z');
const END = new Date('2099-01-01T00:00:00Z');

async function metersOf({ accountId }: BilledAccount) {
  const ask = async (text: string) => (await billing.database.query(text, [accountId])).rows;
  const now = billing.clock.now();
  const subscriptions = await billing.database.query(
    'select day_used as day, month_used as month from souk_subscription_meters($1, $2) order by plan_id',
    [accountId, new Date(now)],
  );
  return {
    subscriptions: subscriptions.rows,
    packs: await ask('select remaining_units as left from packs where account_id = $1 order by valid_until'),
  };
}

/** The entries of each source add up to its balance, and those of each call to its charge. */
async function expectBooksToBalance({ accountId }: BilledAccount): Promise<void> {
  const ask = async (text: string) => (await billing.database.query(text, [accountId])).rows;
  expect(
    await ask(`select k.id from packs k
      left join ledger_entries e on e.source = 'pack' and e.source_id = k.id and e.place = 'available'
        and e.account_id = k.account_id
      where k.account_id = $1
      group by k.id having coalesce(sum(e.units), 0) <> k.remaining_units`),
  ).toEqual([]);
  expect(
    await ask(`select c.id from calls c
      left join ledger_entries e on e.account_id = c.account_id and e.call_id = c.id
      where c.account_id = $1
      group by c.account_id, c.id, c.state, c.units_reserved, c.units_charged
      having coalesce(sum(e.units) filter (where e.place = 'available'), 0)
          <> -case when c.state = 'reserved' then c.units_reserved else c.units_charged end
        or coalesce(sum(e.units) filter (where e.place = 'held'), 0)
          <> case when c.state = 'reserved' then c.units_reserved else 0 end
        or coalesce(sum(e.units) filter (where e.place = 'used'), 0) <> c.units_charged
        or c.units_charged > c.units_reserved
        or (c.state = 'released' and c.units_charged > 0)`),
  ).toEqual([]);
}

test('after any history of calls, outcomes and meters equal the model, and the ledger equals the balances', async () => {
  await fc.assert(
    fc.asyncProperty(grants, fc.array(step, { minLength: 5, maxLength: 30 }), async (granted, steps) => {
      // Granted in the opposite order, so that only the ends of the packs determine the order.
      const model = billingModel({ ...granted, packs: granted.packs.toReversed() });
      const account = await billing.account({
        subscriptions: granted.subscriptions.map((grant) => ({ ...grant, startsAt: START, endsAt: END })),
        packs: granted.packs.map((grant, i) => ({ ...grant, validUntil: new Date(END.getTime() - i) })),
      });
      const open: string[] = [];
      const settled: string[] = [];
      for (const taken of steps) {
        if (taken.kind === 'wait') {
          billing.clock.advance(taken.ms);
        } else if (taken.kind === 'admit') {
          const request = billing.request(account, taken.units, taken.answered ? { answer: 'own' } : {});
          const verdict = model.admit(request.callId, taken.units, billing.clock.now());
          if (!verdict.admitted) {
            const refusal = await refusalOf(billing.admissions.admit(request));
            expect(refusal).toMatchObject({
              kind: verdict.reason,
              metadata: { needed: taken.units, remaining: verdict.remaining },
            });
            continue;
          }
          const { kind } = await billing.admissions.admit(request);
          expect(kind).toBe(taken.answered ? 'cached' : 'started');
          if (taken.answered) model.end(request.callId, taken.units);
          (taken.answered ? settled : open).push(request.callId);
        } else if (taken.kind === 'refund') {
          const [callId] = settled.splice(taken.pick % Math.max(1, settled.length), 1);
          if (!callId) continue;
          expect(await billing.refund(account, callId)).not.toBeNull();
          model.end(callId, 0);
        } else {
          const [callId] = open.splice(taken.pick % Math.max(1, open.length), 1);
          if (!callId) continue;
          const units = taken.release ? 0 : taken.units;
          const charged = model.end(callId, units);
          const ended = taken.release
            ? await billing.release(account, callId)
            : await billing.settle(account, callId, units);
          const state = taken.release ? 'released' : 'settled';
          if (!taken.release) settled.push(callId);
          expect(ended).toEqual({ endedNow: true, state, unitsCharged: charged });
        }
      }
      expect(await metersOf(account)).toEqual(model.meters(billing.clock.now()));
      await expectBooksToBalance(account);
    }),
    { numRuns: repetitions(30) },
  );
});
