import type { FastifyInstance } from 'fastify';
import type { VNode } from 'preact';
import { v7 as uuid } from 'uuid';
import { type SubscriptionTime, subscriptionTimes } from '../../billing/grants.ts';
import {
  OFF_PEAK_PRICE_SHARE,
  type Offer,
  offeredPacks,
  offeredPlans,
  type PackOffer,
  type PlanOffer,
} from '../../billing/payments/offers.ts';
import { isTaken, takenOffers, trialRefusal } from '../../billing/payments/purchase-rules.ts';
import { listPurchases, type Purchase } from '../../billing/payments/purchases.ts';
import {
  discountsOf,
  offerPrice,
  type Reduction,
  writtenReduction,
} from '../../billing/payments/reductions.ts';
import { renewingPlansOf } from '../../billing/payments/sync-renewal.ts';
import type { Wallet } from '../../billing/wallets.ts';
import { Facts, Notice, Tag } from '../kit/elements.tsx';
import { PostButton } from '../kit/form.tsx';
import { Page } from '../kit/layout.tsx';
import { addressOf } from '../kit/list-page.tsx';
import { sendPage } from '../kit/render.tsx';
import { Table, tableOf } from '../kit/table.tsx';
import { count, Hours, money, Time, WALLET_NAMES } from '../kit/words.tsx';
import type { Pages } from '../pages.ts';
import { customerOf } from '../session.ts';
import { confirmBanner } from './profile.tsx';
import { PaidAmount, PurchaseTag, purchaseText } from './purchases.tsx';
import { RenewalCards } from './renewals.tsx';

/** Registers the page of plans and packs for sale, and of the account's purchases. */
export function registerPlans(scope: FastifyInstance, pages: Pages): void {
  const { database, clock, offPeak, currency, payments, trials } = pages;
  scope.get('/account/plans', async (request, reply) => {
    const { liveAccountId: accountId } = customerOf(request);
    const now = clock.now();
    const [trial, refusal, plans, packs, taken, running, purchases, renewing, banner, discounts] =
      await Promise.all([
        trialFor(pages, accountId),
        trialRefusal(database, trials, accountId),
        offeredPlans(database),
        offeredPacks(database),
        takenOffers(database, accountId),
        subscriptionTimes(database, accountId, now),
        listPurchases(database, accountId, 50),
        renewingPlansOf(database, accountId),
        confirmBanner(pages, request),
        discountsOf(database, { accountId, currency }, now),
      ]);
    return sendPage(
      reply,
      <Page title="Plans" heading="Plans and packs">
        <p class="lead">
          A plan renews its units every month. A pack is a fixed number of units. Off-peak units can be spent
          only <Hours {...offPeak} />; an off-peak plan costs {OFF_PEAK_PRICE_SHARE * 100} % of the full
          price.
        </p>
        {banner}
        {payments.renewals && <RenewalCards plans={renewing} offers={plans} />}
        <PlanTimes plans={running} now={now} />
        {running.length === 0 && trial && (
          <section class="notice good" aria-labelledby="welcome">
            <h2 id="welcome">Start with the free trial</h2>
            <StartTrial trial={trial} />
          </section>
        )}
        {payments.name === 'demo' && <DemoNotice />}
        <h2>Plans{running.length > 0 && ' for sale'}</h2>
        <OfferCards
          kind="plan"
          offers={plans.filter(
            (plan) => plan.priceCents > 0 || !(running.length > 0 || isTaken(taken, plan)),
          )}
          currency={currency}
          discounts={discounts}
          trialRefusal={refusal}
        />
        <h2>Packs of units</h2>
        {payments.renewals && (
          <p>
            <a href="/account/top-up">Automatic top-up</a> buys a pack when few units are left.
          </p>
        )}
        <OfferCards
          kind="pack"
          offers={packs.filter((pack) => !isTaken(taken, pack))}
          currency={currency}
          discounts={discounts}
          trialRefusal={refusal}
        />
        <h2>Your purchases</h2>
        <PurchaseTable rows={purchases} />
      </Page>,
    );
  });
}

/** The notice that purchases cost no money on this installation. */
export function DemoNotice(): VNode {
  return (
    <Notice tone="warn">
      <strong>Demo payments.</strong> This installation runs on demo data. Purchases are granted immediately,
      and no money is charged.
    </Notice>
  );
}

const PurchaseTable = tableOf<Purchase>('Your purchases', 'No purchases yet.', [
  [
    'Date',
    ({ id, createdAt }) => (
      <a href={`/account/orders/${id}`}>
        <Time at={createdAt} />
      </a>
    ),
  ],
  ['Item', purchaseText],
  ['Wallet', ({ wallet }) => WALLET_NAMES[wallet]],
  ['Amount', (purchase) => <PaidAmount purchase={purchase} />, 'number'],
  ['State', (purchase) => <PurchaseTag purchase={purchase} />],
]);

/** The plans of an account that run or wait, in the order of their starts; nothing for an account without one. */
function PlanTimes({ plans, now }: { plans: readonly SubscriptionTime[]; now: number }): VNode | null {
  if (plans.length === 0) return null;
  return (
    <>
      <h2>Your plans</h2>
      <Table
        name="Your plans"
        rows={plans}
        columns={[
          ['Plan', planText],
          ['Wallet', ({ wallet }) => WALLET_NAMES[wallet]],
          [
            'State',
            (plan) => (waits(plan, now) ? <Tag tone="warn">Waiting</Tag> : <Tag tone="good">Running</Tag>),
          ],
          ['Starts', ({ startsAt }) => <Time at={startsAt} />],
          ['Ends', ({ endsAt }) => <Time at={endsAt} />],
        ]}
      />
    </>
  );
}

/** The plans of a wallet that follow the present one. */
export function WaitingPlans(props: {
  plans: readonly SubscriptionTime[];
  wallet: Wallet;
  now: number;
}): VNode {
  const { plans, wallet, now } = props;
  return (
    <>
      {plans
        .filter((plan) => plan.wallet === wallet && waits(plan, now))
        .map((plan) => (
          <p key={plan.id}>
            Next: <strong>{planText(plan)}</strong>, from <Time at={plan.startsAt} /> until{' '}
            <Time at={plan.endsAt} />
          </p>
        ))}
    </>
  );
}

/** Says what happens to the plans of the wallet of a plan that is for sale. */
export function PlanTimesNotice(props: {
  plans: readonly SubscriptionTime[];
  startsAt: Date;
  renews: boolean;
  now: number;
}): VNode | null {
  const { plans, startsAt, renews, now } = props;
  const [present] = plans;
  if (!present) return null;
  if (startsAt.getTime() <= now)
    return (
      <Notice tone="good">
        This plan starts as soon as the purchase is complete. Your free plan {present.planName} and its
        remaining units end at that time.
      </Notice>
    );
  return (
    <Notice tone="warn">
      {plans.map((plan, i) => (
        <span key={plan.id}>
          {i > 0 ? 'Then ' : waits(plan, now) ? 'Your plan ' : 'Your current plan, '}
          {planText(plan)}
          {i === 0 && !waits(plan, now) ? ',' : ''} runs until <Time at={plan.endsAt} />.{' '}
        </span>
      ))}
      A wallet has one plan at a time, so{' '}
      {renews ? 'a plan that renews can be bought then' : 'the new plan starts then'}. To get more units
      before that, buy a pack.
    </Notice>
  );
}

function planText({ planName, quantity }: SubscriptionTime): string {
  return `${planName}${quantity > 1 ? ` × ${quantity}` : ''}`;
}

function waits({ startsAt }: SubscriptionTime, now: number): boolean {
  return startsAt.getTime() > now;
}

interface CardsProps {
  currency: string;
  /** The discounts of the reader, of which the best one for an offer lowers its price. */
  discounts: readonly Reduction[];
  /** Returns the link to a path of the account. Default: the path itself. */
  to?: (path: string) => string;
  /** Why the reader cannot take a free offer; null: the reader can. */
  trialRefusal?: string | null;
}

/** The plans or the packs for sale, with their limits and prices. */
export function OfferCards(props: CardsProps & { kind: Offer['kind']; offers: readonly Offer[] }): VNode {
  const { kind, offers, ...shared } = props;
  if (offers.length === 0) return <p class="empty card">No {kind}s are for sale at the moment.</p>;
  return (
    <div class="grid offers">
      {offers.map((offer) => (
        <Card key={offer.code} offer={offer} {...shared} />
      ))}
    </div>
  );
}

function Card(props: CardsProps & { offer: Offer }): VNode {
  const { offer, currency, discounts, to = (path) => path, trialRefusal = null } = props;
  const { kind, code, name, priceCents } = offer;
  const { amountCents, reduction } = offerPrice(offer, discounts);
  const isPlan = kind === 'plan';
  return (
    <article class="card">
      <h3>{name}</h3>
      <p class="price">
        {reduction && (
          <>
            <s>{money(priceCents, currency)}</s>{' '}
          </>
        )}
        {isPlan && priceCents === 0 ? 'Free' : money(amountCents, currency)}
        {isPlan && <small> {priceCents === 0 ? 'for one month' : 'per month'}</small>}
      </p>
      {reduction && (
        <p class="reduced">
          {writtenReduction(reduction).reduction}
          <small>
            {' '}
            until <Time at={reduction.endsAt} />
          </small>
        </p>
      )}
      <Facts facts={isPlan ? planFacts(offer) : packFacts(offer)} />
      {priceCents === 0 && trialRefusal !== null ? (
        <p class="hint">{trialRefusal}</p>
      ) : (
        <a
          class={isPlan ? 'button primary' : 'button'}
          href={to(addressOf('/account/checkout', { kind, code }))}
        >
          {isPlan ? 'Choose' : 'Buy'} {name}
        </a>
      )}
    </article>
  );
}

export function planFacts({ minuteLimit, dailyLimit, monthlyLimit }: PlanOffer) {
  return [
    ['Calls per minute', count(minuteLimit)],
    ['Units per day', count(dailyLimit)],
    ['Units per month', count(monthlyLimit)],
  ] as const;
}

export function packFacts({ wallet, window, rateLimitPerMinute, validDays }: PackOffer) {
  return [
    ['Wallet', WALLET_NAMES[wallet]],
    ...(window ? [['Usable daily', <Hours {...window} />] as const] : []),
    ['Calls per minute', count(rateLimitPerMinute)],
    ['Valid for', `${count(validDays)} days`],
  ] as const;
}

/** Returns the free plan that a new account can take; null if there is none, or the account has bought something. */
export async function trialFor({ database, trials }: Pages, accountId: number): Promise<PlanOffer | null> {
  const [plans, purchases, refusal] = await Promise.all([
    offeredPlans(database),
    listPurchases(database, accountId, 1),
    trialRefusal(database, trials, accountId),
  ]);
  const free = plans.find(({ priceCents }) => priceCents === 0);
  return purchases.length > 0 || refusal !== null ? null : (free ?? null);
}

/** One button starts the trial and shows the API key. */
export function StartTrial({ trial }: { trial: PlanOffer }): VNode {
  const { code, dailyLimit } = trial;
  // With the id, a form that is sent twice creates one purchase.
  const fields = { orderId: uuid(), kind: 'plan', code, wallet: 'general', priceCents: '0' };
  return (
    <>
      <p>
        {dailyLimit === null ? 'Unlimited units' : `${count(dailyLimit)} units a day`} for one month, without
        payment. You get your API key on the next page.
      </p>
      <PostButton action="/account/checkout" fields={fields} class="primary">
        Start the trial
      </PostButton>
    </>
  );
}
