import type { VNode } from 'preact';
import type { Order } from '../../billing/payments/orders.ts';
import { PostForm } from '../kit/form.tsx';
import { money, Time, WALLET_NAMES } from '../kit/words.tsx';
import { OrderTag, whatOf } from './plans.tsx';

/** An order, what it waits for, and the way out of it. */
export function OrderFacts({ order, csrf }: { order: Order; csrf: string }): VNode {
  return (
    <section class="card">
      <h2>{whatOf(order)}</h2>
      <dl class="facts">
        <dt>State</dt>
        <dd>
          <OrderTag order={order} />
        </dd>
        <dt>Amount</dt>
        <dd>{money(order.amountCents, order.currency)}</dd>
        <dt>Wallet</dt>
        <dd>{WALLET_NAMES[order.wallet]}</dd>
        <dt>Ordered</dt>
        <dd>
          <Time at={order.createdAt} />
        </dd>
        <dt>Number</dt>
        <dd>
          <code>{order.id}</code>
        </dd>
      </dl>
      {order.state === 'pending' && (
        <>
          <p>
            {order.provider === 'manual'
              ? 'Pay as you agreed with the operator, and name the number of this order. Your units are there as soon as the operator has confirmed it.'
              : 'The payment was not told to us yet. This page shows it as soon as it was.'}
          </p>
          <PostForm action={`/account/orders/${order.id}/cancel`} csrf={csrf} confirm="Cancel this order?">
            <button type="submit" class="danger">
              Cancel the order
            </button>
          </PostForm>
        </>
      )}
    </section>
  );
}
