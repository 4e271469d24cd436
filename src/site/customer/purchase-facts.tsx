import type { VNode } from 'preact';
import type { Purchase } from '../../billing/payments/purchases.ts';
import { Facts } from '../kit/facts.tsx';
import { PostButton } from '../kit/form.tsx';
import { ToneTag } from '../kit/tag.tsx';
import { money, Time, WALLET_NAMES } from '../kit/words.tsx';

const STATES = {
  pending: ['warn', 'Waiting for payment'],
  granted: ['good', 'Granted'],
  cancelled: ['', 'Cancelled'],
} as const;

export function PurchaseTag({ purchase: { state } }: { purchase: Purchase }): VNode {
  return <ToneTag of={STATES[state]} />;
}

/** "Pro × 2, 3 months". */
export function purchaseText({ offerName, quantity, months }: Purchase): string {
  const times = quantity > 1 ? ` × ${quantity}` : '';
  return `${offerName}${times}${months === null ? '' : `, ${months} ${months === 1 ? 'month' : 'months'}`}`;
}

/** A purchase, what it waits for, and how it is cancelled. */
export function PurchaseFacts({ purchase }: { purchase: Purchase }): VNode {
  const { id, amountCents, currency, wallet, createdAt, state, provider } = purchase;
  return (
    <section class="card">
      <h2>{purchaseText(purchase)}</h2>
      <Facts
        facts={[
          ['State', <PurchaseTag purchase={purchase} />],
          ['Amount', money(amountCents, currency)],
          ['Wallet', WALLET_NAMES[wallet]],
          ['Ordered', <Time at={createdAt} />],
          ['Number', <code>{id}</code>],
        ]}
      />
      {state === 'pending' && (
        <>
          <p>
            {provider === 'manual'
              ? 'Pay as you agreed with the operator, and name the number of this order. Your units are there as soon as the operator has confirmed it.'
              : 'The payment was not told to us yet. This page shows it as soon as it was.'}
          </p>
          <PostButton action={`/account/orders/${id}/cancel`} confirm="Cancel this order?" class="danger">
            Cancel the order
          </PostButton>
        </>
      )}
    </section>
  );
}
