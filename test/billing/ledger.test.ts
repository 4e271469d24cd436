import fc from 'fast-check';
import { beforeEach, expect, test } from 'vitest';
import { ledgerLines } from '../../src/billing/ledger-lines.ts';
import { expirePacks } from '../../src/billing/settlement.ts';
import { dailyUse, usage, walletBalances } from '../../src/billing/statement.ts';
import { DAY_MS } from '../../src/platform/durations.ts';
import { balancesFromLedger, keptBalances } from '../support/balances.ts';
import { type BilledAccount, billingOfFile, refusalOf } from '../support/billing.ts';
import { repetitions } from '../support/repetitions.ts';
import { oneStep } from '../support/steps.ts';

const billing = await billingOfFile();
beforeEach(() => {
  billing.clock.advance(60_000);
});

const inDays = (days: number) => new Date(billing.clock.now() + days * DAY_MS);

async function linesOf({ accountId }: BilledAccount): Promise<string[]> {
  const lines = await ledgerLines(billing.database, accountId, { limit: 100 });
  return lines.toReversed().map(({ kind, units, change }) => `${kind} ${units} ${change}`);
}

async function expireEverything(processes = 1): Promise<number> {
  const runs = Array.from({ length: processes }, () => expirePacks(billing.database, billing.clock.now()));
  return (await Promise.all(runs)).flat().length;
}

test('a pack starts with its grant line', async () => {
  const account = await billing.account({ packs: [{ units: 40 }] });
  expect(await linesOf(account)).toEqual(['grant 40 40']);
});

test('the units left in a pack at its end expire with one line, even if several processes check repeatedly', async () => {
  const account = await billing.account({ packs: [{ units: 40, validUntil: inDays(1) }] });
  await billing.admit(account, 15, { answer: 'own' });
  billing.clock.advance(DAY_MS - 1);
  expect(await expireEverything()).toBe(0);
  billing.clock.advance(1);
  expect(await expireEverything(3)).toBe(1);
  expect(await expireEverything()).toBe(0);
  expect(await linesOf(account)).toEqual(['grant 40 40', 'charge 15 -15', 'expire 25 -25']);
});

test('packs that ended while no process ran expire when the next process checks', async () => {
  const account = await billing.account({
    packs: [1, 2, 90].map((days) => ({ units: days, validUntil: inDays(days) })),
  });
  billing.clock.advance(60 * DAY_MS);
  await expireEverything();
  expect(await linesOf(account)).toEqual([
    'grant 1 1',
    'grant 2 2',
    'grant 90 90',
    'expire 1 -1',
    'expire 2 -2',
  ]);
});

test('a pack that was used up expires without a line', async () => {
  const account = await billing.account({ packs: [{ units: 4, validUntil: inDays(1) }] });
  await billing.admit(account, 4, { answer: 'own' });
  billing.clock.advance(DAY_MS);
  expect(await expireEverything()).toBe(1);
  expect(await linesOf(account)).toEqual(['grant 4 4', 'charge 4 -4']);
});

test.each([
  ['before its expire line is written', 0],
  ['after its expire line is written', 1],
])('units returned to a pack after its end, %s, expire', async (_, checks) => {
  const account = await billing.account({ packs: [{ units: 40, validUntil: inDays(1) }] });
  const { callId } = await billing.admit(account, 15);
  billing.clock.advance(DAY_MS);
  for (let i = 0; i < checks; i += 1) await expireEverything();
  await billing.settle(account, callId, 5);
  await expireEverything();
  const [settled, returned] = ['settle 5 0', 'release 10 10'];
  expect(await linesOf(account)).toEqual([
    'grant 40 40',
    'reserve 15 -15',
    ...(checks
      ? ['expire 25 -25', settled, returned, 'expire 10 -10']
      : [settled, returned, 'expire 35 -35']),
  ]);
});

test('a line names its call, operation and source, and pages of lines have no gap', async () => {
  const account = await billing.account({ subscriptions: [{ dailyLimit: 3 }], packs: [{ units: 10 }] });
  const { callId } = await billing.admit(account, 5, { answer: 'own' });
  const [pack, subscription] = await ledgerLines(billing.database, account.accountId, { limit: 2 });
  const common = { callId, operation: 'market.product', kind: 'charge', wallet: 'general' };
  expect(pack).toMatchObject({ ...common, source: 'pack', units: 2 });
  expect(subscription).toMatchObject({ ...common, source: 'subscription', units: 3 });
  const before = subscription?.id ?? 0;
  const older = await ledgerLines(billing.database, account.accountId, { limit: 2, before });
  expect(older.map(({ kind, callId: none }) => [kind, none])).toEqual([['grant', null]]);
});

test('usage counts calls and units by operation and by day', async () => {
  const account = await billing.account({ subscriptions: [{}] });
  const from = billing.clock.now();
  await billing.admit(account, 5, { answer: 'own' });
  await billing.admit(account, 2, { answer: 'own', operation: 'market.deal' });
  billing.clock.advance(DAY_MS);
  await billing.release(account, (await billing.admit(account, 7)).callId);
  const days = [from, from + DAY_MS].map((at) => new Date(at).toISOString().slice(0, 10));
  expect(await usage(billing.database, account.accountId, { from, to: billing.clock.now() + 1 })).toEqual({
    calls: 3,
    units: 7,
    byOperation: [
      { operation: 'market.deal', calls: 1, units: 2 },
      { operation: 'market.product', calls: 2, units: 5 },
    ],
    byDay: [
      { day: days[0], calls: 2, units: 7 },
      { day: days[1], calls: 1, units: 0 },
    ],
  });
});

type Step =
  | { kind: 'admit'; units: number; answered: boolean }
  | { kind: 'end'; pick: number; units: number; release: boolean }
  | { kind: 'refund'; pick: number }
  | { kind: 'grant'; units: number; days: number }
  | { kind: 'wait'; ms: number }
  | { kind: 'expire' };
const step: fc.Arbitrary<Step> = fc.oneof(
  oneStep(5, 'admit', { units: fc.integer({ min: 1, max: 20 }), answered: fc.boolean() }),
  oneStep(4, 'end', { pick: fc.nat(), units: fc.integer({ min: 0, max: 20 }), release: fc.boolean() }),
  oneStep(2, 'refund', { pick: fc.nat() }),
  oneStep(2, 'grant', { units: fc.integer({ min: 1, max: 40 }), days: fc.integer({ min: 1, max: 3 }) }),
  oneStep(2, 'wait', { ms: fc.constantFrom(1_000, DAY_MS / 4, DAY_MS, 35 * DAY_MS) }),
  oneStep(1, 'expire'),
);

test('every balance equals the sum of its ledger lines after any history of calls, refunds, grants and expiries', async () => {
  const limit = fc.option(fc.integer({ min: 5, max: 60 }), { nil: null });
  const subscriptions = fc.uniqueArray(
    fc.record({ wallet: fc.constantFrom('general' as const, 'off_peak' as const), dailyLimit: limit }),
    { maxLength: 2, selector: ({ wallet }) => wallet },
  );
  await fc.assert(
    fc.asyncProperty(
      subscriptions,
      fc.array(step, { minLength: 10, maxLength: 30 }),
      async (granted, steps) => {
        const account = await billing.account({ subscriptions: granted });
        const open: string[] = [];
        const settled: string[] = [];
        for (const taken of steps) {
          if (taken.kind === 'wait') billing.clock.advance(taken.ms);
          else if (taken.kind === 'expire') await expireEverything();
          else if (taken.kind === 'grant') {
            await billing.pack(account, { units: taken.units, validUntil: inDays(taken.days) });
          } else if (taken.kind === 'admit') {
            const call = billing.admit(account, taken.units, taken.answered ? { answer: 'own' } : {});
            const admitted = await call.catch(() => refusalOf(call).then(() => null));
            if (admitted) (admitted.kind === 'started' ? open : settled).push(admitted.callId);
          } else if (taken.kind === 'refund') {
            const [callId] = settled.splice(taken.pick % Math.max(1, settled.length), 1);
            if (callId) await billing.refund(account, callId);
          } else {
            const [callId] = open.splice(taken.pick % Math.max(1, open.length), 1);
            if (!callId) continue;
            if (taken.release) await billing.release(account, callId);
            else {
              await billing.settle(account, callId, taken.units);
              settled.push(callId);
            }
          }
        }
        const { database, clock } = billing;
        expect(await keptBalances(database, account.accountId, clock.now())).toEqual(
          await balancesFromLedger(database, account.accountId, clock.now()),
        );

        const period = { from: 0, to: clock.now() + 1 };
        const { rows: callsByDay } = await database.query(
          `select to_char(accepted_at at time zone 'UTC', 'YYYY-MM-DD') as day, operation, count(*) as calls,
             sum(units_charged) as units
           from calls where account_id = $1 group by 1, 2 order by 1, 2`,
          [account.accountId],
        );
        expect(await dailyUse(database, account.accountId, period)).toEqual(callsByDay);

        const view = await ledgerLines(database, account.accountId, { limit: 10_000 });
        const { packs } = await walletBalances(database, account.accountId, clock.now());
        for (const { id, remainingUnits } of packs) {
          const own = view.filter(({ source, sourceId }) => source === 'pack' && sourceId === id);
          expect(own.reduce((sum, { change }) => sum + change, 0)).toBe(remainingUnits);
        }
      },
    ),
    { numRuns: repetitions(20) },
  );
});
