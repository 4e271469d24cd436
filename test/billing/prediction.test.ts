import fc from 'fast-check';
import { expect, test } from 'vitest';
import { type Admissions, createAdmissions } from '../../src/billing/admission.ts';
import { quotaSnapshot } from '../../src/billing/quota.ts';
import { createSettlements, type Settlements } from '../../src/billing/settlement.ts';
import type { OffPeakWindow } from '../../src/billing/wallets.ts';
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../src/platform/durations.ts';
import { SoukError } from '../../src/platform/errors.ts';
import { type BilledAccount, billingOfFile } from '../support/billing.ts';
import { type BillingModel, billingModel, type Verdict } from '../support/billing-model.ts';
import { type Grants, openManyAccounts } from '../support/many-accounts.ts';
import { repetitions } from '../support/repetitions.ts';
import { PATIENCE } from '../support/time.ts';

const billing = await billingOfFile();

/** Multiplied by the scenes and instants below: 675 states. */
const ACCOUNTS = repetitions(15);
const INSTANTS = 5;

const windowOf = (hours: string, timezone: string): OffPeakWindow => {
  const [start = '', end = ''] = hours.split('-');
  return { start, end, timezone };
};
/** The window of the service, and the moment of the scene. */
const SCENES: readonly [string, OffPeakWindow, string][] = [
  ['the window opens', windowOf('19:00-07:00', 'Asia/Shanghai'), '2026-03-10T11:00Z'],
  ['a window that crosses midnight closes', windowOf('19:00-07:00', 'Asia/Shanghai'), '2026-03-10T23:00Z'],
  ['day and month end inside the window', windowOf('06:00-09:00', 'Asia/Shanghai'), '2026-04-01T00:00Z'],
  [
    'it is midnight in the time zone of the window',
    windowOf('22:00-02:00', 'Asia/Kolkata'),
    '2026-05-05T18:30Z',
  ],
  [
    'a month of a subscription begins on the last day of a calendar month',
    windowOf('09:00-17:00', 'UTC'),
    '2026-02-28T00:00Z',
  ],
  ['clocks skip the start of the window', windowOf('02:30-06:00', 'Europe/Berlin'), '2026-03-29T01:00Z'],
  ['clocks repeat the end of the window', windowOf('22:00-02:30', 'Europe/Berlin'), '2026-10-25T01:00Z'],
  [
    'the start of the window occurs a second time',
    windowOf('01:30-05:00', 'America/New_York'),
    '2026-11-01T06:30Z',
  ],
  ['clocks go back at midnight', windowOf('23:30-23:45', 'America/Santiago'), '2026-04-05T03:00Z'],
];
const OWN_WINDOWS = [
  windowOf('02:00-02:45', 'Europe/Berlin'),
  windowOf('00:00-12:00', 'UTC'),
  windowOf('18:00-08:00', 'Asia/Shanghai'),
];

/** Times of starts and ends around the moment of the scene: often equal to it, or a millisecond apart. */
const begins = fc.constantFrom(-40 * DAY_MS, -40 * DAY_MS, -20 * DAY_MS, -MINUTE_MS, 0, 1);
const ends = fc.constantFrom(0, 1, MINUTE_MS, HOUR_MS, 2 * DAY_MS, 90 * DAY_MS, 90 * DAY_MS, 90 * DAY_MS);
const looks = fc.constantFrom(
  -DAY_MS,
  -90 * MINUTE_MS,
  -MINUTE_MS,
  -1,
  0,
  1,
  MINUTE_MS - 1,
  MINUTE_MS,
  30 * MINUTE_MS,
  HOUR_MS,
  6 * HOUR_MS,
  DAY_MS,
  31 * DAY_MS,
);
const wallet = fc.constantFrom('general' as const, 'off_peak' as const);
const limit = (max: number) => fc.option(fc.integer({ min: 1, max }), { nil: null });
const account = fc.record({
  subscriptions: fc.uniqueArray(
    fc.record({
      wallet,
      quantity: fc.integer({ min: 1, max: 2 }),
      begins,
      ends,
      minuteLimit: limit(3),
      dailyLimit: limit(6),
      monthlyLimit: limit(12),
    }),
    { maxLength: 2, selector: (subscription) => subscription.wallet },
  ),
  packs: fc.array(
    fc.record({
      wallet,
      units: fc.integer({ min: 1, max: 5 }),
      rate: fc.integer({ min: 1, max: 3 }),
      begins,
      ends,
      window: fc.option(fc.constantFrom(...OWN_WINDOWS), { nil: undefined }),
    }),
    { maxLength: 3 },
  ),
});
/** The actions of an account before the snapshot: calls, and the ends of some of them. */
const act = fc.record({
  units: fc.integer({ min: 0, max: 4 }),
  keeps: fc.option(fc.integer({ min: 0, max: 3 }), { nil: null }),
});
const world = fc.record({
  looks: fc.uniqueArray(looks, { minLength: INSTANTS, maxLength: INSTANTS }),
  accounts: fc.array(account, { minLength: ACCOUNTS, maxLength: ACCOUNTS }),
  acts: fc.array(
    fc.array(fc.array(act, { minLength: 2, maxLength: 2 }), { minLength: INSTANTS, maxLength: INSTANTS }),
    { minLength: ACCOUNTS, maxLength: ACCOUNTS },
  ),
});

type World = ArbitraryOf<typeof world>;
type AccountSeed = ArbitraryOf<typeof account>;
type Act = ArbitraryOf<typeof act>;
type ArbitraryOf<A> = A extends fc.Arbitrary<infer Value> ? Value : never;

function grantsOf({ subscriptions, packs }: AccountSeed, moment: number): Grants {
  return {
    subscriptions: subscriptions.map(({ begins: from, ends: until, ...grant }) => ({
      ...grant,
      startsAt: new Date(moment + from),
      endsAt: new Date(moment + Math.max(until, from + 1)),
    })),
    packs: packs
      .map(({ begins: from, ends: until, window, ...grant }) => ({
        ...grant,
        validFrom: new Date(moment + from),
        validUntil: new Date(moment + Math.max(until, from + 1)),
        ...(window && grant.wallet === 'off_peak' ? { window } : {}),
      }))
      .sort((a, b) => a.validUntil.getTime() - b.validUntil.getTime()),
  };
}

interface Subject {
  account: BilledAccount;
  model: BillingModel;
  /** The grants of the account, for the message of a failure. */
  granted: Grants;
}

interface Service {
  admissions: Admissions;
  settlements: Settlements;
}

interface Outcome {
  callId: string;
  error: SoukError | null;
}

/** Returns the actual outcome of a call of this price. */
async function outcomeOf(admissions: Admissions, subject: Subject, units: number): Promise<Outcome> {
  const request = billing.request(subject.account, units);
  try {
    const { callId } = await admissions.admit(request);
    return { callId, error: null };
  } catch (error) {
    if (error instanceof SoukError) return { callId: request.callId, error };
    throw error;
  }
}

/** Applies an action to an account and to its model. */
async function live(service: Service, subject: Subject, { units, keeps }: Act, now: number): Promise<void> {
  if (units === 0) return;
  const { callId, error } = await outcomeOf(service.admissions, subject, units);
  const label = `${units} at ${new Date(now).toISOString()} of ${JSON.stringify(subject.granted)}`;
  expect(subject.model.admit(callId, units, now).admitted, label).toBe(error === null);
  if (error || keeps === null) return;
  subject.model.end(callId, keeps);
  const { accountId } = subject.account;
  const ending = { answer: null, error: null, startedAt: null, attempts: 1 };
  await service.settlements.end({ ...ending, accountId, callId, units: keeps });
}

/** The first source of each call. */
async function firstDraws(callIds: readonly string[]) {
  const { rows } = await billing.database.query<{ call_id: string; wallet: string; source: string }>(
    `select distinct on (l.call_id) l.call_id, coalesce(s.wallet, k.wallet) as wallet, l.source
     from ledger l
     left join subscriptions s on l.source = 'subscription' and s.id = l.source_id
     left join packs k on l.source = 'pack' and k.id = l.source_id
     where l.call_id = any($1) order by l.call_id, l.id`,
    [callIds],
  );
  return new Map(rows.map(({ call_id, wallet: drawn, source }) => [call_id, { wallet: drawn, source }]));
}

/** Returns the prediction that corresponds to this outcome. */
const predicted = (first: { wallet: string; source: string } | null, reason: string | null) => ({
  activeBilling: first?.wallet ?? null,
  activeBillingTrack: first && (first.source === 'pack' ? 'pack' : 'legacy'),
  nextCallRejectReason: reason,
});
const ofModel = (verdict: Verdict) =>
  verdict.admitted ? predicted(verdict, null) : predicted(null, verdict.reason);

test.each(SCENES)(
  'when %s, the next call of each account gets exactly what its snapshot predicted',
  async (_, offPeak, at) => {
    const moment = Date.parse(at);
    // A failure prints the seed only: smaller cases give no more information than one account of a large one.
    const property = fc.asyncProperty(fc.integer(), async (seed) => {
      const [{ looks: offsets, accounts, acts }] = fc.sample(world, { seed, numRuns: 1 }) as [World];
      const instants = offsets.toSorted((a, b) => a - b).map((offset) => moment + offset);
      let now = instants[0] ?? moment;
      const admissions = createAdmissions(billing.database, () => now, offPeak, PATIENCE.answerLimitMs);
      const settlements = createSettlements(billing.database, () => now);
      const deps = { database: billing.database, admissions, offPeak };
      const grants = accounts.map((granted) => grantsOf(granted, moment));
      const opened = await openManyAccounts(billing.database, grants, now);
      const subjects = grants.map((granted, i) => ({
        granted,
        account: opened[i] as BilledAccount,
        model: billingModel(granted, offPeak),
      }));

      for (const [look, instant] of instants.entries()) {
        now = instant;
        for (const round of [0, 1]) {
          const act = (i: number) => acts[i]?.[look]?.[round] ?? { units: 0, keeps: null };
          await Promise.all(
            subjects.map((subject, i) => live({ admissions, settlements }, subject, act(i), now)),
          );
        }
        const snapshots = await Promise.all(
          subjects.map(({ account: own }) => quotaSnapshot(deps, own, now)),
        );
        const got = await Promise.all(subjects.map((subject) => outcomeOf(admissions, subject, 1)));
        const drawn = await firstDraws(got.map(({ callId }) => callId));
        for (const [i, { model, granted }] of subjects.entries()) {
          const { callId, error } = got[i] as Outcome;
          const label = `${new Date(now).toISOString()} ${JSON.stringify({ offPeak, granted, acts: acts[i] })}`;
          const real = predicted(drawn.get(callId) ?? null, error?.kind ?? null);
          expect(snapshots[i], label).toMatchObject({
            ...real,
            nextCallRejectMessage: error?.message ?? null,
          });
          expect(real, label).toEqual(ofModel(model.admit(callId, 1, now)));
        }
      }
    });
    await fc.assert(property, { numRuns: 1, endOnFailure: true });
  },
);
