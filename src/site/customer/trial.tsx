import type { VNode } from 'preact';
import { v7 as uuid } from 'uuid';
import { offeredPlans, type PlanOffer } from '../../billing/payments/offers.ts';
import { listPurchases } from '../../billing/payments/purchases.ts';
import { trialRefusal } from '../../billing/payments/trials.ts';
import { PostButton } from '../kit/form.tsx';
import { count } from '../kit/words.tsx';
import type { Pages } from '../pages.ts';

/** Returns the free plan that a new account can take; null if there is none, or the account has bought something. */
export async function trialFor({ database, trials }: Pages, accountId: number): Promise<PlanOffer | null> {
  const [plans, purchases, refusal] = await Promise.all([
    offeredPlans(database),
    listPurchases(database, { accountId, limit: 1 }),
    trialRefusal(database, trials, accountId),
  ]);
  const free = plans.find(({ priceCents }) => priceCents === 0);
  return purchases.length > 0 || refusal !== null ? null : (free ?? null);
}

/** Welcomes a new customer: one button starts the trial and shows the API key. */
export function Welcome({ trial }: { trial: PlanOffer }): VNode {
  const { code, dailyLimit } = trial;
  // With the id, a form that is sent twice creates one purchase.
  const fields = { orderId: uuid(), kind: 'plan', code, wallet: 'general', priceCents: '0' };
  return (
    <section class="notice good" aria-labelledby="welcome">
      <h2 id="welcome">Welcome. Start with the free trial</h2>
      <p>
        {dailyLimit === null ? 'Unlimited units' : `${count(dailyLimit)} units a day`} for one month, without
        payment. You get your API key on the next page.
      </p>
      <PostButton action="/account/checkout" fields={fields} class="primary">
        Start the trial
      </PostButton>
    </section>
  );
}
