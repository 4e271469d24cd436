import type { FastifyInstance } from 'fastify';
import type { VNode } from 'preact';
import { subscriptionTimes } from '../../billing/grants.ts';
import { OFF_PEAK_PRICE_SHARE, offeredPacks, offeredPlans } from '../../billing/payments/offers.ts';
import { listPurchases, type Purchase } from '../../billing/payments/purchases.ts';
import { isTaken, takenOffers, trialRefusal } from '../../billing/payments/trials.ts';
import { renewingPlansOf } from '../../billing/renewals/renewing-plans.ts';
import { Page } from '../kit/layout.tsx';
import { sendPage } from '../kit/render.tsx';
import { Table } from '../kit/table.tsx';
import { money, Time, WALLET_NAMES } from '../kit/words.tsx';
import type { Pages } from '../pages.ts';
import { customerOf } from '../session.ts';
import { PackCards, PlanCards } from './offer-cards.tsx';
import { PlanTimes } from './plan-times.tsx';
import { PurchaseTag, purchaseText } from './purchase-facts.tsx';
import { RenewalCards } from './renewal-cards.tsx';
import { confirmBanner } from './settings/confirm-banner.tsx';
import { trialFor, Welcome } from './trial.tsx';

/** Registers the page of plans and packs for sale, and of the account's purchases. */
export function registerPlans(scope: FastifyInstance, pages: Pages): void {
  const { database, clock, offPeak, currency, payments, trials } = pages;
  scope.get('/account/plans', async (request, reply) => {
    const { liveAccountId: accountId } = customerOf(request);
    const now = clock.now();
    const [trial, refusal, plans, packs, taken, running, purchases, renewing, banner] = await Promise.all([
      trialFor(pages, accountId),
      trialRefusal(database, trials, accountId),
      offeredPlans(database),
      offeredPacks(database),
      takenOffers(database, accountId),
      subscriptionTimes(database, accountId, now),
      listPurchases(database, { accountId, limit: 50 }),
      renewingPlansOf(database, accountId),
      confirmBanner(pages, request),
    ]);
    return sendPage(
      reply,
      <Page title="Plans">
        <h1>Plans and packs</h1>
        <p class="lead">
          A plan renews its units every month. A pack is a fixed number of units. Off-peak units can be spent
          only from {offPeak.start} to {offPeak.end} ({offPeak.timezone}); an off-peak plan costs{' '}
          {OFF_PEAK_PRICE_SHARE * 100} % of the full price.
        </p>
        {banner}
        {payments.renewals && <RenewalCards plans={renewing} offers={plans} />}
        <PlanTimes plans={running} now={now} />
        {running.length === 0 && trial && <Welcome trial={trial} />}
        {payments.name === 'demo' && <DemoNotice />}
        <h2>Plans{running.length > 0 && ' for sale'}</h2>
        <PlanCards
          plans={plans.filter((plan) => plan.priceCents > 0 || !(running.length > 0 || isTaken(taken, plan)))}
          currency={currency}
          trialRefusal={refusal}
        />
        <h2>Packs of units</h2>
        {payments.renewals && (
          <p>
            <a href="/account/top-up">Automatic top-up</a> buys a pack when few units are left.
          </p>
        )}
        <PackCards
          packs={packs.filter((pack) => !isTaken(taken, pack))}
          currency={currency}
          trialRefusal={refusal}
        />
        <h2>Your purchases</h2>
        <PurchaseTable purchases={purchases} />
      </Page>,
    );
  });
}

/** The notice that purchases cost no money on this installation. */
export function DemoNotice(): VNode {
  return (
    <div class="notice warn">
      <p>
        <strong>Demo payments.</strong> This installation runs on demo data. Purchases are granted
        immediately, and no money is charged.
      </p>
    </div>
  );
}

function PurchaseTable({ purchases }: { purchases: readonly Purchase[] }): VNode {
  return (
    <Table
      name="Your purchases"
      empty="No purchases yet."
      rows={purchases}
      columns={[
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
        ['Amount', ({ amountCents, currency }) => money(amountCents, currency), 'number'],
        ['State', (purchase) => <PurchaseTag purchase={purchase} />],
      ]}
    />
  );
}
