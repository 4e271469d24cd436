import type { VNode } from 'preact';
import type { Purchase } from '../../billing/payments/purchases.ts';
import { Facts } from '../kit/facts.tsx';
import { PostButton } from '../kit/form.tsx';
import { ToneTag } from '../kit/tag.tsx';
import { money, Time, WALLET_NAMES } from '../kit/words.tsx';

const STATES = {
  pending: ['warn', 'Payment pending'],
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

/** The details of a purchase. While it is pending: how to pay it, and a button that cancels it. */
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
          ['Created', <Time at={createdAt} />],
          ['Purchase id', <code>{id}</code>],
        ]}
      />
      {state === 'pending' && (
        <>
          <p>
            {provider === 'manual'
              ? 'Pay as agreed with the operator and state the purchase id. Your units become available when the operator confirms the payment.'
              : 'The payment has not been confirmed yet. This page updates when the confirmation arrives.'}
          </p>
          <PostButton action={`/account/orders/${id}/cancel`} confirm="Cancel this purchase?" class="danger">
            Cancel the purchase
          </PostButton>
        </>
      )}
    </section>
  );
}
