import type { FastifyInstance } from 'fastify';
import type { VNode } from 'preact';
import { OFF_PEAK_PRICE_SHARE, offeredPacks, offeredPlans } from '../../billing/payments/offers.ts';
import { listOrders, type Order } from '../../billing/payments/orders.ts';
import { Page } from '../kit/layout.tsx';
import { sendPage } from '../kit/render.ts';
import { money, Time, WALLET_NAMES } from '../kit/words.tsx';
import type { Pages } from '../pages.ts';
import { customerOf, viewerOf } from '../session.ts';
import { PackCards, PlanCards } from './offer-cards.tsx';

/** What can be bought, and what was. */
export function registerPlans(scope: FastifyInstance, { gateway, currency, payments }: Pages): void {
  const { database, offPeak } = gateway;
  scope.get('/account/plans', async (request, reply) => {
    const { accountId } = customerOf(request);
    const [plans, packs, orders] = await Promise.all([
      offeredPlans(database),
      offeredPacks(database),
      listOrders(database, { accountId, limit: 50 }),
    ]);
    const to = (path: string) => path;
    return sendPage(
      reply,
      <Page title="Plans" viewer={viewerOf(request, reply)} path="/account/plans">
        <h1>Plans and packs</h1>
        <p class="lead">
          A plan gives units anew each month; a pack is used up. Off-peak units are spent from {offPeak.start}{' '}
          to {offPeak.end} ({offPeak.timezone}) only, and a plan for those hours costs{' '}
          {OFF_PEAK_PRICE_SHARE * 100} % of its price.
        </p>
        {payments.name === 'demo' && <DemoNotice />}
        <h2>Plans</h2>
        <PlanCards plans={plans} currency={currency} to={to} />
        <h2>Packs of units</h2>
        <PackCards packs={packs} currency={currency} to={to} />
        <h2>Your orders</h2>
        <Orders orders={orders} />
      </Page>,
    );
  });
}

/** What is bought here is a game. */
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

export const ORDER_STATES = {
  pending: ['warn', 'Waiting for payment'],
  granted: ['good', 'Granted'],
  cancelled: ['', 'Cancelled'],
} as const;

export function Orders({ orders }: { orders: readonly Order[] }): VNode {
  if (orders.length === 0) return <p class="empty card">Nothing was bought yet.</p>;
  return (
    <div class="table">
      <table>
        <thead>
          <tr>
            <th scope="col">When</th>
            <th scope="col">What</th>
            <th scope="col">Wallet</th>
            <th scope="col" class="number">
              Amount
            </th>
            <th scope="col">State</th>
          </tr>
        </thead>
        <tbody>
          {orders.map((order) => (
            <tr key={order.id}>
              <td>
                <a href={`/account/orders/${order.id}`}>
                  <Time at={order.createdAt} />
                </a>
              </td>
              <td>{whatOf(order)}</td>
              <td>{WALLET_NAMES[order.wallet]}</td>
              <td class="number">{money(order.amountCents, order.currency)}</td>
              <td>
                <OrderTag order={order} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

export function OrderTag({ order: { state } }: { order: Order }): VNode {
  const [tone, text] = ORDER_STATES[state];
  return <span class={`tag ${tone}`}>{text}</span>;
}

/** "Pro × 2, 3 months". */
export function whatOf({ offerName, quantity, months }: Order): string {
  const times = quantity > 1 ? ` × ${quantity}` : '';
  return `${offerName}${times}${months === null ? '' : `, ${months} ${months === 1 ? 'month' : 'months'}`}`;
}
