import type { FastifyInstance } from 'fastify';
import type { VNode } from 'preact';
import { z } from 'zod';
import { GrantRefused } from '../../billing/grants.ts';
import { type OrderWithAccount, ordersWithAccounts } from '../../billing/payments/order-list.ts';
import { cancelOrder, grantOrder } from '../../billing/payments/orders.ts';
import { SoukError } from '../../platform/errors.ts';
import { OrderTag, whatOf } from '../customer/plans.tsx';
import { PostForm } from '../kit/form.tsx';
import { Page } from '../kit/layout.tsx';
import { sendPage } from '../kit/render.ts';
import { money, Time, WALLET_NAMES } from '../kit/words.tsx';
import type { Pages } from '../pages.ts';
import { viewerOf } from '../session.ts';
import { DataTable } from './data-table.tsx';

const PAGE = 50;

const orderId = z.object({ orderId: z.uuid() });
const paging = z.object({ before: z.uuid().nullable().catch(null) });

/** Orders that wait for the operator's word, and those that were. */
export function registerOrders(scope: FastifyInstance, { gateway }: Pages): void {
  const { database, clock } = gateway;

  scope.get('/admin/orders', async (request, reply) => {
    const { before } = paging.parse(request.query);
    const [pending, ended] = await Promise.all([
      before === null ? ordersWithAccounts(database, { pending: true, before: null, limit: 500 }) : [],
      ordersWithAccounts(database, { pending: false, before, limit: PAGE + 1 }),
    ]);
    const csrf = reply.generateCsrf();
    const last = ended.length > PAGE ? ended[PAGE - 1] : undefined;
    return sendPage(
      reply,
      <Page title="Orders" viewer={viewerOf(request, reply)} path="/admin/orders" wide>
        <h1>Orders</h1>
        {before === null && (
          <>
            <h2>Waiting for payment</h2>
            <Pending orders={pending} csrf={csrf} />
          </>
        )}
        <h2>History</h2>
        <DataTable
          label="Orders that ended"
          empty="No order has ended yet."
          columns={[...FACTS, 'Paid by', 'State', 'Ended']}
          rows={ended
            .slice(0, PAGE)
            .map((order) => [
              ...factsOf(order),
              order.provider,
              <OrderTag order={order} />,
              <Time at={order.endedAt} />,
            ])}
        />
        {last && (
          <p class="pages">
            <a class="button" href={`/admin/orders?before=${last.id}`}>
              Older ones
            </a>
          </p>
        )}
      </Page>,
    );
  });

  scope.post('/admin/orders/:orderId/confirm', async (request, reply) => {
    try {
      // Whoever confirms twice grants once.
      const order = await grantOrder(database, idIn(request.params), clock.now());
      if (!order) throw noOrder();
    } catch (error) {
      if (error instanceof GrantRefused) throw new SoukError('BATCH_STATE', { message: error.message });
      throw error;
    }
    return reply.redirect('/admin/orders', 303);
  });

  scope.post('/admin/orders/:orderId/cancel', async (request, reply) => {
    await cancelOrder(database, idIn(request.params), clock.now());
    return reply.redirect('/admin/orders', 303);
  });
}

function idIn(params: unknown): string {
  const parsed = orderId.safeParse(params);
  if (!parsed.success) throw noOrder();
  return parsed.data.orderId;
}

const noOrder = () => new SoukError('NOT_FOUND', { message: 'There is no such order.' });

const FACTS = ['Ordered', 'Account', 'What', '#Amount', 'Number'];

function factsOf(order: OrderWithAccount) {
  return [
    <Time at={order.createdAt} />,
    <a href={`/admin/accounts/${order.accountId}`}>{order.email}</a>,
    <>
      {whatOf(order)} {order.wallet === 'off_peak' && <span class="tag">{WALLET_NAMES[order.wallet]}</span>}
    </>,
    money(order.amountCents, order.currency),
    <code class="id">{order.id}</code>,
  ];
}

function Pending({ orders, csrf }: { orders: readonly OrderWithAccount[]; csrf: string }): VNode {
  return (
    <DataTable
      label="Orders that wait for payment"
      empty="No order waits."
      columns={[...FACTS, 'Decide']}
      rows={orders.map((order) => [
        ...factsOf(order),
        <div class="row">
          <PostForm
            action={`/admin/orders/${order.id}/confirm`}
            csrf={csrf}
            confirm={`Was ${money(order.amountCents, order.currency)} paid by ${order.email}? It is granted at once.`}
          >
            <button type="submit" class="small primary">
              Paid: grant it
            </button>
          </PostForm>
          <PostForm
            action={`/admin/orders/${order.id}/cancel`}
            csrf={csrf}
            confirm={`Cancel the order of ${order.email}?`}
          >
            <button type="submit" class="small danger">
              Cancel
            </button>
          </PostForm>
        </div>,
      ])}
    />
  );
}
