import fc from 'fast-check';
import { v7 as uuid } from 'uuid';
import { expect, test } from 'vitest';
import { createKey, hashKey } from '../../../src/accounts/authentication.ts';
import type { Offer } from '../../../src/billing/payments/offers.ts';
import { PurchaseRefused } from '../../../src/billing/payments/purchase-rules.ts';
import { createPurchase, grantPurchase } from '../../../src/billing/payments/purchases.ts';
import { syncReversal } from '../../../src/billing/payments/reversals.ts';
import type { StripeContext } from '../../../src/billing/payments/stripe/stripe-context.ts';
import { MARGIN_GROUPS, type MarginGroup } from '../../../src/operator/margin/margin.ts';
import { readMargin } from '../../../src/operator/margin/read-margin.ts';
import { sumUnits } from '../../../src/operator/margin/unit-sums.ts';
import { monthsAfter } from '../../../src/platform/calendar.ts';
import { only } from '../../../src/platform/db/rows.ts';
import { DAY_MS, HOUR_MS } from '../../../src/platform/durations.ts';
import { type BilledAccount, type Billing, openBilling } from '../../support/billing.ts';
import { repetitions } from '../../support/repetitions.ts';
import { oneStep } from '../../support/steps.ts';

const START = Date.parse('2026-03-04T10:00:00Z');
const OPERATIONS = ['market.product', 'market.seller'] as const;

type Step =
  | { kind: 'pack'; account: number; units: number; cents: number; days: number; percent: number }
  | {
      kind: 'plan';
      account: number;
      units: number | null;
      cents: number;
      months: number;
      quantity: number;
      percent: number;
    }
  | { kind: 'free'; account: number; units: number }
  | { kind: 'call'; account: number; key: number; operation: number; units: number; charged: number }
  | { kind: 'settle'; pick: number }
  | { kind: 'refund'; pick: number }
  | { kind: 'reverse'; pick: number; share: number }
  | { kind: 'wait'; ms: number }
  | { kind: 'sum' };

const account = fc.nat(1);
/** Of a coupon; 0: none. */
const percent = fc.constantFrom(0, 0, 1, 33, 99);
const step: fc.Arbitrary<Step> = fc.oneof(
  oneStep(2, 'pack', {
    account,
    units: fc.integer({ min: 1, max: 200 }),
    cents: fc.integer({ min: 1, max: 5_000 }),
    days: fc.integer({ min: 3, max: 40 }),
    percent,
  }),
  oneStep(2, 'plan', {
    account,
    units: fc.option(fc.integer({ min: 10, max: 200 }), { nil: null, freq: 3 }),
    cents: fc.integer({ min: 1, max: 5_000 }),
    months: fc.integer({ min: 1, max: 3 }),
    quantity: fc.integer({ min: 1, max: 2 }),
    percent,
  }),
  oneStep(1, 'free', { account, units: fc.integer({ min: 1, max: 50 }) }),
  oneStep(8, 'call', {
    account,
    key: fc.nat(1),
    operation: fc.nat(1),
    units: fc.integer({ min: 1, max: 60 }),
    charged: fc.integer({ min: 0, max: 60 }),
  }),
  oneStep(6, 'settle', { pick: fc.nat() }),
  oneStep(2, 'refund', { pick: fc.nat() }),
  oneStep(1, 'reverse', { pick: fc.nat(), share: fc.constantFrom(0, 0.25, 0.5, 1) }),
  oneStep(5, 'wait', { ms: fc.constantFrom(HOUR_MS, 7 * HOUR_MS, DAY_MS, 5 * DAY_MS) }),
  oneStep(2, 'sum', {}),
);

/** What the test knows of a payment. */
interface Bought {
  accountId: number;
  source: string;
  cents: number;
  at: number;
  intent: string;
  months: number;
  reversals: { at: number; cents: number }[];
}

interface Called {
  account: BilledAccount;
  callId: string;
  charged: number;
  at: number;
}

class History {
  readonly bought: Bought[] = [];
  readonly open: Called[] = [];
  readonly settled: Called[] = [];
  readonly accepted = new Map<string, number>();
  readonly #billing: Billing;
  readonly #accounts: BilledAccount[];
  readonly #keys: Buffer[][];

  constructor(billing: Billing, accounts: BilledAccount[], keys: Buffer[][]) {
    this.#billing = billing;
    this.#accounts = accounts;
    this.#keys = keys;
  }

  async take(step: Step): Promise<void> {
    const { clock, database } = this.#billing;
    const now = clock.now();
    if (step.kind === 'wait') {
      clock.advance(step.ms);
      await database.query('select souk_expire_overdue($1, 100)', [new Date(clock.now())]);
    } else if (step.kind === 'sum') await sumUnits(database, now);
    else if (step.kind === 'pack' || step.kind === 'plan') await this.#buy(step);
    else if (step.kind === 'free')
      await this.#billing.pack(this.#account(step.account), {
        units: step.units,
        validUntil: new Date(now + 9 * DAY_MS),
      });
    else if (step.kind === 'call') await this.#call(step);
    else if (step.kind === 'settle') {
      const [call] = this.open.splice(step.pick % Math.max(1, this.open.length), 1);
      if (!call) return;
      await this.#billing.settle(call.account, call.callId, call.charged);
      this.settled.push(call);
    } else if (step.kind === 'refund') {
      const [call] = this.settled.splice(step.pick % Math.max(1, this.settled.length), 1);
      if (call) await this.#billing.refund(call.account, call.callId);
    } else await this.#reverse(step);
  }

  #account(index: number): BilledAccount {
    return only(this.#accounts.slice(index));
  }

  async #buy(step: Extract<Step, { kind: 'pack' | 'plan' }>): Promise<void> {
    const { clock, database } = this.#billing;
    const { accountId } = this.#account(step.account);
    const now = clock.now();
    const offer = step.kind === 'pack' ? packOf(step) : await planOf(this.#billing, step);
    const [quantity, months] = step.kind === 'pack' ? [1, 1] : [step.quantity, step.months];
    const purchaseId = uuid();
    const terms = { wallet: 'general', quantity, months, currency: 'usd', provider: 'demo' } as const;
    const coupon = step.percent === 0 ? '' : await couponOf(this.#billing, step.percent);
    const bought = { purchaseId, accountId, offer, coupon, ...terms };
    let amountCents: number;
    try {
      ({ amountCents } = await createPurchase(database, bought, now));
    } catch (error) {
      // A coupon made several cents free, which are free only once.
      if (error instanceof PurchaseRefused) return;
      throw error;
    }
    if (amountCents === 0) return;
    const intent = `pi_${purchaseId}`;
    const granted = await grantPurchase(database, purchaseId, now, intent);
    const source = granted?.packId ? `pack ${granted.packId}` : `subscription ${granted?.subscriptionId}`;
    this.bought.push({ accountId, source, cents: amountCents, at: now, intent, months, reversals: [] });
  }

  async #call(step: Extract<Step, { kind: 'call' }>): Promise<void> {
    const billed = this.#account(step.account);
    const keyHash = only((this.#keys[step.account] ?? []).slice(step.key));
    const details = {
      operation: OPERATIONS[step.operation] ?? '',
      caller: { accountId: billed.accountId, keyHash },
    };
    const request = this.#billing.request(billed, step.units, details);
    const at = this.#billing.clock.now();
    try {
      await this.#billing.admissions.admit(request);
    } catch {
      return;
    }
    this.accepted.set(request.callId, at);
    this.open.push({
      account: billed,
      callId: request.callId,
      charged: Math.min(step.charged, step.units),
      at,
    });
  }

  async #reverse({ pick, share }: Extract<Step, { kind: 'reverse' }>): Promise<void> {
    const bought = this.bought[pick % Math.max(1, this.bought.length)];
    if (!bought) return;
    const { clock, database } = this.#billing;
    const charge = { amount: 10_000, amount_refunded: 10_000 * share, disputed: false };
    const paymentIntents = { retrieve: async () => ({ latest_charge: charge }) };
    const context = { database, now: clock.now, api: async () => ({ paymentIntents }) };
    await syncReversal(context as unknown as StripeContext, bought.intent);
    const before = bought.reversals.reduce((sum, { cents }) => sum + cents, 0);
    bought.reversals.push({ at: clock.now(), cents: Math.round(bought.cents * share) - before });
  }
}

/** Creates a coupon. @returns its code. */
async function couponOf({ database, clock }: Billing, percent: number): Promise<string> {
  const code = `C-${uuid().slice(-12).toUpperCase()}`;
  await database.query(
    'insert into price_reductions (code, percent, created_at, ends_at) values ($1, $2, $3, $4)',
    [code, percent, new Date(clock.now()), new Date(clock.now() + DAY_MS)],
  );
  return code;
}

function packOf({ units, cents, days }: { units: number; cents: number; days: number }): Offer {
  const terms = { name: 'Pack', wallet: 'general' as const, window: null, rateLimitPerMinute: 1_000_000 };
  return { kind: 'pack', code: `pack-${days}`, ...terms, units, validDays: days, priceCents: cents };
}

async function planOf(
  billing: Billing,
  { units, cents }: { units: number | null; cents: number },
): Promise<Offer> {
  const code = `plan-${uuid()}`;
  const { rows } = await billing.database.query<{ id: number }>(
    'insert into plans (code, name, monthly_limit, price_cents) values ($1, $1, $2, $3) returning id',
    [code, units, cents],
  );
  const limits = { minuteLimit: null, dailyLimit: null, monthlyLimit: units };
  return { kind: 'plan', id: only(rows).id, code, name: code, ...limits, priceCents: cents, renews: false };
}

interface Line {
  accountId: number;
  at: number;
  kind: string;
  source: string;
  callId: string | null;
  units: number;
}

interface Source {
  source: string;
  total: number | null;
  from: number;
  to: number;
}

/** The figures of a time, from each line of the ledger and each purchase. */
class Replay {
  readonly #lines: Line[];
  readonly #sources: Map<string, Source>;
  readonly #history: History;

  constructor(history: History, lines: Line[], sources: Source[]) {
    this.#history = history;
    this.#lines = lines;
    this.#sources = new Map(sources.map((one) => [one.source, one]));
  }

  static async of(history: History, { database }: Billing): Promise<Replay> {
    const lines = await database.query<Line>(
      `select account_id as "accountId", (extract(epoch from at) * 1000)::bigint as at, kind, source || ' ' || source_id as source,
         call_id as "callId", units from ledger order by id`,
    );
    const sources = await database.query<Source>(
      `select 'pack ' || id as source, total_units as total, (extract(epoch from valid_from) * 1000)::bigint as from,
         (extract(epoch from valid_until) * 1000)::bigint as to from packs
       union all
       select 'subscription ' || s.id, p.monthly_limit * s.quantity, (extract(epoch from starts_at) * 1000)::bigint,
         (extract(epoch from ends_at) * 1000)::bigint from subscriptions s join plans p on p.id = s.plan_id`,
    );
    return new Replay(history, lines.rows, sources.rows);
  }

  units(from: number, to: number, isWanted: (line: Line) => boolean = () => true): number {
    let sum = 0;
    for (const line of this.#lines) {
      if (line.at < from || line.at >= to || !isWanted(line)) continue;
      if (line.kind === 'charge' || line.kind === 'settle') sum += line.units;
      if (line.kind === 'refund') sum -= line.units;
    }
    return sum;
  }

  /** Billionths of the currency that were earned until a time. */
  earned(at: number, accountId?: number): bigint {
    let sum = 0n;
    for (const bought of this.#history.bought)
      if (accountId === undefined || bought.accountId === accountId) sum += this.#earnedOf(bought, at);
    return sum;
  }

  #earnedOf(bought: Bought, at: number): bigint {
    const source = this.#sources.get(bought.source);
    if (!source || at <= bought.at) return 0n;
    const net = BigInt(bought.cents - sumOf(bought.reversals.filter((one) => one.at < at))) * 10_000_000n;
    const counts = new Map<number, { used: number; revoked: number }>();
    for (const line of this.#lines) {
      if (line.source !== bought.source || line.at >= at) continue;
      const time = this.#history.accepted.get(line.callId ?? '') ?? line.at;
      let window = 0;
      while (window + 1 < bought.months && monthsAfter(new Date(source.from), window + 1).getTime() <= time)
        window += 1;
      const count = counts.get(window) ?? { used: 0, revoked: 0 };
      counts.set(window, count);
      if (line.kind === 'charge' || line.kind === 'settle') count.used += line.units;
      if (line.kind === 'refund') count.used -= line.units;
      if (line.kind === 'revoke') count.revoked += line.units;
      if (line.kind === 'restore') count.revoked -= line.units;
    }
    let sum = 0n;
    for (let window = 0; window < bought.months; window += 1) {
      const [n, m] = [BigInt(window), BigInt(bought.months)];
      const price = (net * (n + 1n)) / m - (net * n) / m;
      const [start, next] = [0, 1].map((k) => monthsAfter(new Date(source.from), window + k).getTime()) as [
        number,
        number,
      ];
      const end = window + 1 === bought.months ? source.to : Math.min(next, source.to);
      const { used, revoked } = counts.get(window) ?? { used: 0, revoked: 0 };
      const [part, whole] =
        source.total === null ? [at - start, next - start] : [used, source.total - revoked];
      if (at >= end || part >= whole) sum += price;
      else if (part > 0) sum += (price * BigInt(part)) / BigInt(whole);
    }
    return sum;
  }
}

const sumOf = (some: readonly { cents: number }[]) => some.reduce((sum, { cents }) => sum + cents, 0);

const cents = (nanos: bigint) => Number(nanos / 10_000_000n);

const dayOf = (at: number) => new Date(at).toISOString().slice(0, 10);

async function expectMargin(billing: Billing, history: History, from: string, to: string): Promise<number> {
  // Lines of the present millisecond count.
  billing.clock.advance(1);
  const replay = await Replay.of(history, billing);
  const now = billing.clock.now();
  const [begin, end] = [Date.parse(from), Math.min(now, Date.parse(to) + DAY_MS)];
  const settings = { currency: 'usd', tokenPrice: null, now };
  const revenueCents = cents(replay.earned(end)) - cents(replay.earned(begin));
  const paid = history.bought.filter(({ at }) => at >= begin && at < end);
  const refunds = history.bought
    .flatMap(({ reversals }) => reversals)
    .filter(({ at }) => at >= begin && at < end);
  const held = (at: number) =>
    sumOf(history.bought.filter((one) => one.at < at)) -
    sumOf(history.bought.flatMap(({ reversals }) => reversals).filter((one) => one.at < at));
  for (const by of Object.keys(MARGIN_GROUPS) as MarginGroup[]) {
    const { totals, rows } = await readMargin(billing.database, { from, to, by }, settings);
    expect(totals, by).toMatchObject({
      units: replay.units(begin, Date.parse(to) + DAY_MS),
      revenueCents,
      paidCents: sumOf(paid),
      refundedCents: sumOf(refunds),
      deferredBeforeCents: held(begin) - cents(replay.earned(begin)),
      deferredCents: held(end) - cents(replay.earned(end)),
    });
    for (const field of ['units', 'revenueCents', 'unusedCents', 'marginCents'] as const)
      expect(
        rows.reduce((sum, row) => sum + row[field], 0),
        `${by} ${field}`,
      ).toBe(totals[field]);
    for (const { group, units, revenueCents: own } of rows) {
      if (by === 'day') {
        const [a, b] = [Date.parse(group), Math.min(now, Date.parse(group) + DAY_MS)];
        expect(units).toBe(replay.units(a, Date.parse(group) + DAY_MS));
        expect(own).toBe(cents(replay.earned(b)) - cents(replay.earned(a)));
      }
      if (by === 'customer') {
        const accountId = Number(group);
        const exact = Number(replay.earned(end, accountId) - replay.earned(begin, accountId)) / 10_000_000;
        expect(units).toBe(
          replay.units(begin, Date.parse(to) + DAY_MS, (line) => line.accountId === accountId),
        );
        expect(Math.abs(own - exact)).toBeLessThan(1);
      }
    }
  }
  return revenueCents;
}

/** Returns the revenue of all days, when everything has ended and is summed. */
async function earnedInAll(billing: Billing, first: string): Promise<number> {
  const { clock, database } = billing;
  const { rows } = await database.query<{ at: Date | null }>(
    'select max(at) as at from (select max(valid_until) as at from packs union all select max(ends_at) from subscriptions) as ends',
  );
  clock.advance(Math.max(DAY_MS, (rows[0]?.at?.getTime() ?? 0) + DAY_MS - clock.now()));
  await database.query('select souk_expire_overdue($1, 100)', [new Date(clock.now())]);
  const last = dayOf(clock.now());
  for (let day = first; day < last; day = dayOf(Date.parse(day) + 30 * DAY_MS))
    await sumUnits(database, clock.now());
  let sum = 0;
  for (let from = first; from <= last; from = dayOf(Date.parse(from) + 366 * DAY_MS)) {
    const query = { from, to: dayOf(Date.parse(from) + 365 * DAY_MS), by: 'customer' } as const;
    const { totals } = await readMargin(database, query, {
      currency: 'usd',
      tokenPrice: null,
      now: clock.now(),
    });
    sum += totals.revenueCents;
    if (query.to >= last) expect(totals.deferredCents).toBe(0);
  }
  return sum;
}

test('after any history, the margin equals ledger and purchases to the unit and the cent, by every group', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 20, maxLength: 60 }), fc.nat(), async (steps, cut) => {
      const billing = await openBilling({ start: START });
      try {
        const accounts = [await billing.account(), await billing.account()];
        const keys = await Promise.all(
          accounts.map(async ({ accountId, keyHash }) => [
            keyHash,
            hashKey(await createKey(billing.database, accountId, START)),
          ]),
        );
        const history = new History(billing, accounts, keys);
        for (const taken of steps) await history.take(taken);
        const [first, last] = [dayOf(START), dayOf(billing.clock.now())];
        const middle = dayOf(START + (cut % (Date.parse(last) - Date.parse(first) + DAY_MS)));
        const whole = await expectMargin(billing, history, first, last);
        const parts = await expectMargin(billing, history, first, middle);
        const rest =
          middle >= last ? 0 : await expectMargin(billing, history, dayOf(Date.parse(middle) + DAY_MS), last);
        expect(parts + rest).toBe(whole);
        expect(await earnedInAll(billing, first)).toBe(
          sumOf(history.bought) - sumOf(history.bought.flatMap(({ reversals }) => reversals)),
        );
      } finally {
        await billing.close();
      }
    }),
    // Each run opens a database, so that shrinking would take too long.
    { numRuns: repetitions(6), endOnFailure: true },
  );
});
