import type { VNode } from 'preact';
import type { PlanOffer } from '../../billing/payments/offers.ts';
import { isUpgrade } from '../../billing/renewals/change-renewal.ts';
import type { RenewingPlan } from '../../billing/renewals/renewing-plans.ts';
import { Facts } from '../kit/facts.tsx';
import { PostButton } from '../kit/form.tsx';
import { ToneTag } from '../kit/tag.tsx';
import { money, Time, WALLET_NAMES } from '../kit/words.tsx';

const STATES = {
  active: ['good', 'Active'],
  past_due: ['bad', 'Payment failed'],
  cancelling: ['warn', 'Cancelled'],
  ended: ['', 'Ended'],
} as const;

export function RenewalTag({ plan: { state } }: { plan: RenewingPlan }): VNode {
  return <ToneTag of={STATES[state]} />;
}

/** The renewing plans of an account, with what their customer can do. */
export function RenewalCards(props: {
  plans: readonly RenewingPlan[];
  /** Plans for sale. */
  offers: readonly PlanOffer[];
}): VNode | null {
  const { offers } = props;
  const plans = props.plans.filter(({ state }) => state !== 'ended');
  return (
    <>
      {plans.map((plan) => (
        <section key={plan.id} class="card" aria-label={`Your plan ${plan.planName}`}>
          <h2>Your plan: {plan.planName}</h2>
          {plan.state === 'past_due' && <PastDue plan={plan} />}
          <Facts facts={factsOf(plan)} />
          <Actions plan={plan} />
          {plan.state !== 'past_due' && <Changes plan={plan} offers={offers} />}
        </section>
      ))}
    </>
  );
}

function PastDue({ plan: { graceUntil } }: { plan: RenewingPlan }): VNode {
  return (
    <div class="notice bad" role="alert">
      <p>
        The last payment failed. Change your card before <Time at={graceUntil} />; after that the plan ends.
      </p>
    </div>
  );
}

export function factsOf(plan: RenewingPlan) {
  const { state, wallet, quantity, amountCents, currency, periodEnd, nextPlanName } = plan;
  const renews = state === 'active' || state === 'past_due';
  return [
    ['State', <RenewalTag plan={plan} />],
    ['Wallet', `${WALLET_NAMES[wallet]}${quantity > 1 ? `, × ${quantity}` : ''}`],
    [renews ? 'Renews at' : 'Ends at', <Time at={periodEnd} />],
    ...(renews ? [['Next payment', money(amountCents, currency)] as const] : []),
    ...(nextPlanName === null ? [] : [['Next month', nextPlanName] as const]),
  ] as const;
}

function Actions({ plan: { id, state } }: { plan: RenewingPlan }): VNode {
  return (
    <div class="row">
      <PostButton action="/account/portal">Change card</PostButton>
      <a class="button" href="/account/invoices">
        Invoices and receipts
      </a>
      {state === 'cancelling' ? (
        <PostButton action={`/account/renewals/${id}/resume`} class="primary">
          Keep the plan
        </PostButton>
      ) : (
        <PostButton
          action={`/account/renewals/${id}/cancel`}
          confirm="Cancel the plan? It continues until the end of the month that you have paid for."
          class="danger"
        >
          Cancel the plan
        </PostButton>
      )}
    </div>
  );
}

function Changes({ plan, offers }: { plan: RenewingPlan; offers: readonly PlanOffer[] }): VNode | null {
  const others = offers.filter(
    ({ id, renews, priceCents }) =>
      renews && priceCents > 0 && (id !== plan.planId || plan.nextPlanName !== null),
  );
  if (others.length === 0) return null;
  return (
    <>
      <h3>Change the plan</h3>
      <p class="hint">
        A dearer plan starts a new month immediately. You pay its price less the price of the time that is
        left of your present month. Units that you have used beyond the time that has passed count against the
        new month; the units left of the present month end. A cheaper plan starts with the next month.
      </p>
      <div class="row">
        {others.map((offer) => (
          <PostButton
            key={offer.code}
            action={`/account/renewals/${plan.id}/change`}
            fields={{ code: offer.code }}
            confirm={
              isUpgrade(plan, offer)
                ? `Change to ${offer.name} now? You are charged immediately.`
                : `Change to ${offer.name} with the next month?`
            }
          >
            {offer.id === plan.planId ? `Stay with ${offer.name}` : `Change to ${offer.name}`}
          </PostButton>
        ))}
      </div>
    </>
  );
}
