import { Cron } from 'croner';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { VNode } from 'preact';
import { z } from 'zod';
import {
  OFF_PEAK_PRICE_SHARE,
  offeredPacks,
  offeredPlans,
  type PlanOffer,
} from '../../billing/payments/offers.ts';
import { discountsOf, offerPrice } from '../../billing/payments/reductions.ts';
import type { OffPeakWindow } from '../../billing/wallets.ts';
import { QUEUED } from '../../operations/index.ts';
import { OfferCards } from '../customer/plans.tsx';
import { Field } from '../kit/form.tsx';
import { readValues } from '../kit/form-request.ts';
import { Page } from '../kit/layout.tsx';
import { sendPage } from '../kit/render.tsx';
import { tableOf } from '../kit/table.tsx';
import { count, counted, Hours, money, Time } from '../kit/words.tsx';
import type { Pages } from '../pages.ts';

const DAYS_PER_MONTH = 30;

const MOST_A_DAY = 1_000_000;

/** What a customer does each day, with the units of one time. */
const HABITS = [
  ['products', 'Products looked up a day', 1],
  ['keywords', 'Keywords with their products a day', 4],
  ['lists', 'Best-seller lists a day', 10],
  ['searches', 'Product searches a day', 5],
] as const;

const EXAMPLE = { products: 100, keywords: 10, lists: 1, searches: 2 };

const times = z.coerce.number().int().min(0).max(MOST_A_DAY);

/** Any other value in the address means the example. */
const habits = z.object({
  products: times.catch(EXAMPLE.products),
  keywords: times.catch(EXAMPLE.keywords),
  lists: times.catch(EXAMPLE.lists),
  searches: times.catch(EXAMPLE.searches),
});

type Habits = z.output<typeof habits>;

/** The units of a day with these habits. */
export function unitsADay(given: Habits): number {
  return HABITS.reduce((sum, [name, , units]) => sum + given[name] * units, 0);
}

/** The cheapest plan whose limits allow the units of a day, every day of a month; null if none does. */
export function cheapestPlan(plans: readonly PlanOffer[], aDay: number): PlanOffer | null {
  const enough = plans.filter(
    ({ priceCents, dailyLimit, monthlyLimit }) =>
      priceCents > 0 &&
      (dailyLimit === null || dailyLimit >= aDay) &&
      (monthlyLimit === null || monthlyLimit >= aDay * DAYS_PER_MONTH),
  );
  return enough.reduce<PlanOffer | null>(
    (best, plan) => (best === null || plan.priceCents < best.priceCents ? plan : best),
    null,
  );
}

/** Reads what is for sale, with the discounts of visitors, and returns it with the way to it. */
export async function offersFor({ database, currency, clock }: Pages, { session }: FastifyRequest) {
  const [plans, packs, discounts] = await Promise.all([
    offeredPlans(database),
    offeredPacks(database),
    discountsOf(database, { accountId: null, currency }, clock.now()),
  ]);
  const to = (path: string) => (session ? path : `/sign-up?to=${encodeURIComponent(path)}`);
  return { plans, packs, currency, discounts, to };
}

/** Registers the page of prices, which needs no account. */
export function registerPricing(scope: FastifyInstance, pages: Pages): void {
  const { clock, offPeak } = pages;
  scope.get('/pricing', async (request, reply) => {
    const offers = await offersFor(pages, request);
    const { plans, packs, ...shared } = offers;
    const given = habits.parse(readValues(request.query));
    return sendPage(
      reply,
      <Page title="Pricing" styles={['account.css']}>
        <p class="lead">
          Calls cost units. A call that fails, is refused, or joins an identical call of the last five minutes
          costs nothing. You can check the price of each call before you make it.
        </p>
        <Calculator given={given} offers={offers} />
        <h2>Plans</h2>
        <OfferCards kind="plan" offers={plans} {...shared} />
        <h2>Packs of units</h2>
        <OfferCards kind="pack" offers={packs} {...shared} />
        <OffPeakHours window={offPeak} now={clock.now()} />
        <h2>What a unit buys</h2>
        <PriceTable rows={QUEUED} />
      </Page>,
    );
  });
}

type Offers = Awaited<ReturnType<typeof offersFor>>;

function Calculator({ given, offers }: { given: Habits; offers: Offers }): VNode {
  const { plans, currency, discounts } = offers;
  const aDay = unitsADay(given);
  const plan = cheapestPlan(plans, aDay);
  return (
    <section class="card" aria-labelledby="calculator">
      <h2 id="calculator">How many units do you need?</h2>
      <form method="get" action="/pricing#calculator" class="row">
        {HABITS.map(([name, label, units]) => (
          <Field
            key={name}
            name={name}
            label={`${label} (${counted(units, 'unit')} each)`}
            type="number"
            min={0}
            max={MOST_A_DAY}
            preset={String(given[name])}
          />
        ))}
        <button type="submit">Calculate</button>
      </form>
      <p>
        <strong>{count(aDay)} units a day</strong>, {count(aDay * DAYS_PER_MONTH)} units in {DAYS_PER_MONTH}{' '}
        days.{' '}
        {plan
          ? `The plan ${plan.name} is enough, at ${money(offerPrice(plan, discounts).amountCents, currency)} a month.`
          : 'No plan includes this many units. Combine a plan with packs, or ask the operator of this service for an offer.'}
      </p>
    </section>
  );
}

function OffPeakHours({ window, now }: { window: OffPeakWindow; now: number }): VNode {
  return (
    <>
      <h2>Off-peak hours</h2>
      <p>
        Off-peak plans cost {OFF_PEAK_PRICE_SHARE * 100} % of the full price. Their units can be spent daily{' '}
        <Hours {...window} />. The next off-peak window is from <Time at={next(window.start, window, now)} />{' '}
        to <Time at={next(window.end, window, next(window.start, window, now))} />.
      </p>
    </>
  );
}

/** The next time of a clock in the time zone of a window. */
function next(clockTime: string, { timezone }: OffPeakWindow, after: number): number {
  const [hour = '0', minute = '0'] = clockTime.split(':');
  const at = new Cron(`${Number(minute)} ${Number(hour)} * * *`, { timezone }).nextRun(new Date(after));
  return at?.getTime() ?? after;
}

const PriceTable = tableOf<(typeof QUEUED)[number]>('Prices of operations', 'No operations.', [
  ['What it does', ({ summary }) => summary],
  ['Units', ({ price }) => price.text],
]);
