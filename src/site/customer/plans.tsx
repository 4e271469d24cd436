import type { FastifyInstance } from 'fastify';
import type { VNode } from 'preact';
import { OFF_PEAK_PRICE_SHARE, offeredPacks, offeredPlans } from '../../billing/payments/offers.ts';
import { listPurchases, type Purchase } from '../../billing/payments/purchases.ts';
import { Page } from '../kit/layout.tsx';
import { sendPage } from '../kit/render.tsx';
import { Table } from '../kit/table.tsx';
import { money, Time, WALLET_NAMES } from '../kit/words.tsx';
import type { Pages } from '../pages.ts';
import { customerOf } from '../session.ts';
import { PackCards, PlanCards } from './offer-cards.tsx';
import { PurchaseTag, purchaseText } from './purchase-facts.tsx';

/** The plans and packs for sale, and the account's purchases. */
export function registerPlans(scope: FastifyInstance, pages: Pages): void {
  const { database, offPeak, currency, payments } = pages;
  scope.get('/account/plans', async (request, reply) => {
    const { accountId } = customerOf(request);
    const [plans, packs, purchases] = await Promise.all([
      offeredPlans(database),
      offeredPacks(database),
      listPurchases(database, { accountId, limit: 50 }),
    ]);
    return sendPage(
      reply,
      <Page title="Plans">
        <h1>Plans and packs</h1>
        <p class="lead">
          A plan gives units anew each month; a pack is used up. Off-peak units are spent from {offPeak.start}{' '}
          to {offPeak.end} ({offPeak.timezone}) only, and a plan for those hours costs{' '}
          {OFF_PEAK_PRICE_SHARE * 100} % of its price.
        </p>
        {payments.name === 'demo' && <DemoNotice />}
        <h2>Plans</h2>
        <PlanCards plans={plans} currency={currency} />
        <h2>Packs of units</h2>
        <PackCards packs={packs} currency={currency} />
        <h2>Your orders</h2>
        <PurchaseTable purchases={purchases} />
      </Page>,
    );
  });
}

/** Says that purchases cost nothing here. */
export function DemoNotice(): VNode {
  return (
    <div class="notice warn">
      <p>
        <strong>Demo payments.</strong> This installation runs on demo data: whatever you buy is granted at
        once, and nobody is charged any money.
      </p>
    </div>
  );
}

function PurchaseTable({ purchases }: { purchases: readonly Purchase[] }): VNode {
  return (
    <Table
      name="Your orders"
      empty="Nothing was bought yet."
      rows={purchases}
      columns={[
        [
          'When',
          ({ id, createdAt }) => (
            <a href={`/account/orders/${id}`}>
              <Time at={createdAt} />
            </a>
          ),
        ],
        ['What', purchaseText],
        ['Wallet', ({ wallet }) => WALLET_NAMES[wallet]],
        ['Amount', ({ amountCents, currency }) => money(amountCents, currency), 'number'],
        ['State', (purchase) => <PurchaseTag purchase={purchase} />],
      ]}
    />
  );
}
