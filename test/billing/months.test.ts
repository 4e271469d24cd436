import fc from 'fast-check';
import { expect } from 'vitest';
import { createAdmissions } from '../../src/billing/admission.ts';
import { monthsAfter } from '../../src/platform/calendar.ts';
import { type Database, openDatabase } from '../../src/platform/db/pool.ts';
import { createLogger } from '../../src/platform/log.ts';
import { type BilledAccount, type Billing, OFF_PEAK } from '../support/billing.ts';
import { test } from '../support/souk-test.ts';
import { PATIENCE } from '../support/time.ts';
import { rows } from '../support/words.ts';

interface Moment {
  startsAt: Date;
  months: number;
  at: Date;
}

/** The window of each moment according to PostgreSQL, for an unused subscription. */
async function windowsOf(database: Database, moments: readonly Moment[]): Promise<[string, string][]> {
  const { rows } = await database.query<{ first: Date; next: Date }>(
    `select m.month_start as first, m.month_end as next
     from unnest($1::timestamptz[], $2::timestamptz[], $3::timestamptz[]) with ordinality as q (starts_at, ends_at, at, nth)
     cross join lateral jsonb_populate_record(null::subscriptions, jsonb_build_object(
       'starts_at', q.starts_at, 'ends_at', q.ends_at, 'month_start', '-infinity', 'month_end', '-infinity')) as s
     cross join lateral souk_month(s, q.at) as m
     order by nth`,
    [
      moments.map(({ startsAt }) => startsAt),
      moments.map(({ startsAt, months }) => monthsAfter(startsAt, months)),
      moments.map(({ at }) => at),
    ],
  );
  return rows.map(({ first, next }) => [first.toISOString(), next.toISOString()]);
}

const iso = (at: string) => new Date(at).toISOString();

test.for(
  rows(`
  starts with it                                         | 2026-01-15T13:40Z | 2026-01-15T13:40Z        | 2026-01-15T13:40Z | 2026-02-15T13:40Z
  lasts until the last moment before the next month      | 2026-01-15T13:40Z | 2026-02-15T13:39:59.999Z | 2026-01-15T13:40Z | 2026-02-15T13:40Z
  is followed by the next month at its first moment      | 2026-01-15T13:40Z | 2026-02-15T13:40Z        | 2026-02-15T13:40Z | 2026-03-15T13:40Z
  from the 31st starts on the 30th in a month of 30 days | 2026-01-31T09:00Z | 2026-05-15               | 2026-04-30T09:00Z | 2026-05-31T09:00Z
  from the 31st ends on the last day of February         | 2026-01-31T09:00Z | 2026-02-28T08:59Z        | 2026-01-31T09:00Z | 2026-02-28T09:00Z
  from the 31st starts on the last day of February       | 2026-01-31T09:00Z | 2026-02-28T09:00Z        | 2026-02-28T09:00Z | 2026-03-31T09:00Z
  from the 31st ends on 29 February in a leap year       | 2027-12-31T00:00Z | 2028-02-28               | 2028-01-31        | 2028-02-29
  from 29 February starts on the 28th a year later       | 2028-02-29T23:59Z | 2029-03-01               | 2029-02-28T23:59Z | 2029-03-29T23:59Z
  continues into the next year                           | 2026-12-20T01:00Z | 2027-01-05               | 2026-12-20T01:00Z | 2027-01-20T01:00Z
`),
)(
  'the month of a subscription %s',
  async ([_, startsAt = '', at = '', first = '', next = ''], { database }) => {
    const moment = { startsAt: new Date(startsAt), months: 36, at: new Date(at) };
    expect(await windowsOf(database, [moment])).toEqual([[iso(first), iso(next)]]);
  },
);

/** Zones of a machine or session: on both sides of UTC, with daylight saving, and with a day that they skipped. */
const ZONES = ['UTC', 'America/New_York', 'Pacific/Apia', 'Europe/Berlin', 'Asia/Kolkata'];

const start = fc
  .date({ min: new Date('2023-12-01'), max: new Date('2028-12-31'), noInvalidDate: true })
  .map((date) => new Date(Math.floor(date.getTime() / 1000) * 1000));
const shareOfTerm = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true });

function momentOf(startsAt: Date, months: number, share: number): Moment {
  const term = monthsAfter(startsAt, months).getTime() - startsAt.getTime();
  return { startsAt, months, at: new Date(startsAt.getTime() + Math.floor(share * term)) };
}

/** Runs a task as on a machine whose TZ is this zone. */
async function onMachineIn<T>(zone: string, task: () => Promise<T> | T): Promise<T> {
  const before = process.env.TZ;
  process.env.TZ = zone;
  try {
    return await task();
  } finally {
    if (before === undefined) delete process.env.TZ;
    else process.env.TZ = before;
  }
}

function openInZone(database: Database, zone: string): Database {
  const url = new URL(database.options.connectionString ?? '');
  url.searchParams.set('options', `-c TimeZone=${zone}`);
  return openDatabase(url.href, createLogger('silent'));
}

test.for(ZONES)(
  'window k lasts from k to k + 1 months after the start, for a machine and a session in %s',
  async (zone, { database }) => {
    const session = openInZone(database, zone);
    try {
      const moment = fc.tuple(start, fc.integer({ min: 1, max: 120 }), shareOfTerm);
      const moments = fc.sample(moment, { numRuns: 150 }).map((drawn) => momentOf(...drawn));
      const windows = await onMachineIn(zone, () => windowsOf(session, moments));
      moments.forEach(({ startsAt, months, at }, i) => {
        const starts = Array.from({ length: months + 1 }, (_, k) => monthsAfter(startsAt, k));
        const k = starts.findLastIndex((windowStart) => windowStart <= at);
        expect(windows[i]).toEqual([starts[k]?.toISOString(), starts[k + 1]?.toISOString()]);
        // No day is lost for good: only a month without the start day has another one.
        const lastDay = new Date(Date.UTC(startsAt.getUTCFullYear(), startsAt.getUTCMonth() + k + 1, 0));
        expect(starts[k]?.getUTCDate()).toBe(Math.min(startsAt.getUTCDate(), lastDay.getUTCDate()));
      });
    } finally {
      await session.end();
    }
  },
);

const ALLOWANCE = 6;

interface Term {
  account: BilledAccount;
  startsAt: Date;
  months: number;
  /** When it calls, and how many units it requests each time. */
  calls: { at: number; units: number }[];
}

/** An account that buys one or two terms, the second from the end of the first, in the same wallet. */
async function subscribe(billing: Billing, startsAt: Date, terms: readonly number[]) {
  let from = startsAt;
  const subscriptions = terms.map((months) => {
    const [begins, ends] = [from, monthsAfter(from, months)];
    from = ends;
    return { monthlyLimit: ALLOWANCE, startsAt: begins, endsAt: ends };
  });
  return { account: await billing.account({ subscriptions }), endsAt: from };
}

test('no sequence of calls draws more than N allowances from N months, and a customer who uses every window gets all of them', async ({
  billing,
}) => {
  const first = new Date(billing.clock.now());
  const plan = fc.record({
    delayMs: fc.integer({ min: 0, max: 40 * 86_400_000 }),
    terms: fc.array(fc.integer({ min: 1, max: 3 }), { minLength: 1, maxLength: 2 }),
    thrifty: fc.boolean(),
    others: fc.array(fc.tuple(shareOfTerm, fc.integer({ min: 1, max: ALLOWANCE })), { maxLength: 6 }),
  });
  const customers: Term[] = [];
  for (const { delayMs, terms, thrifty, others } of fc.sample(plan, { numRuns: 12 })) {
    const startsAt = new Date(first.getTime() + delayMs);
    const { account, endsAt } = await subscribe(billing, startsAt, terms);
    const months = terms.reduce((sum, term) => sum + term, 0);
    const bounds = terms.flatMap((term, i) => {
      const from = monthsAfter(startsAt, 0);
      const begins = terms.slice(0, i).reduce((at, before) => monthsAfter(at, before), from);
      return Array.from({ length: term }, (_, k) => monthsAfter(begins, k).getTime());
    });
    // The moments at which an extra window would be visible: midnight of each start day, and just before and after each start.
    const probes = bounds.flatMap((at) => [at - (at % 86_400_000), at - 1, at + 1]);
    const within = probes.filter((at) => at >= startsAt.getTime() && at < endsAt.getTime());
    const calls = [...bounds, ...within, endsAt.getTime() - 1].map((at) => ({ at, units: ALLOWANCE }));
    const random = others.map(([share, units]) => ({
      at: startsAt.getTime() + Math.floor(share * (endsAt.getTime() - startsAt.getTime())),
      units,
    }));
    customers.push({ account, startsAt, months, calls: thrifty ? calls : [...calls, ...random] });
  }
  const sessions = ZONES.slice(1, 3).map((zone) => openInZone(billing.database, zone));
  const admissions = sessions.map((session) =>
    createAdmissions(session, billing.clock.now, OFF_PEAK, PATIENCE.answerLimitMs),
  );
  const drawn = customers.map(() => 0);
  const calls = customers
    .flatMap(({ calls: own }, i) => own.map((call) => ({ ...call, i })))
    .sort((a, b) => a.at - b.at);
  for (const [nth, { at, units, i }] of calls.entries()) {
    billing.clock.advance(at - billing.clock.now());
    const request = billing.request((customers[i] as Term).account, units, { answer: 'own' });
    const admitted = await admissions[nth % admissions.length]?.admit(request).catch(() => null);
    if (admitted) drawn[i] = (drawn[i] ?? 0) + units;
  }
  await Promise.all(sessions.map((session) => session.end()));
  customers.forEach(({ months, calls: own }, i) => {
    const isThrifty = own.every(({ units }) => units === ALLOWANCE);
    expect(drawn[i]).toBeLessThanOrEqual(months * ALLOWANCE);
    if (isThrifty) expect(drawn[i]).toBe(months * ALLOWANCE);
  });
});
