import type { ComponentChildren, VNode } from 'preact';
import type { Offer, PackOffer, PlanOffer } from '../../billing/payments/offers.ts';
import { Facts } from '../kit/facts.tsx';
import { addressOf } from '../kit/paging.tsx';
import { count, hoursText, money, WALLET_NAMES } from '../kit/words.tsx';

interface CardsProps {
  currency: string;
  /** Returns the link to a path of the account. Default: the path itself. */
  to?: (path: string) => string;
  /** Why the reader cannot take a free offer; null: the reader can. */
  trialRefusal?: string | null;
}

/** The plans for sale, with limits and prices. */
export function PlanCards({ plans, ...shared }: CardsProps & { plans: readonly PlanOffer[] }): VNode {
  if (plans.length === 0) return <p class="empty card">No plans are for sale at the moment.</p>;
  return (
    <div class="grid offers">
      {plans.map((plan) => (
        <Card key={plan.code} offer={plan} {...shared}>
          <small> {plan.priceCents === 0 ? 'for one month' : 'per month'}</small>
        </Card>
      ))}
    </div>
  );
}

/** The packs for sale, with units and prices. */
export function PackCards({ packs, ...shared }: CardsProps & { packs: readonly PackOffer[] }): VNode {
  if (packs.length === 0) return <p class="empty card">No packs are for sale at the moment.</p>;
  return (
    <div class="grid offers">
      {packs.map((pack) => (
        <Card key={pack.code} offer={pack} {...shared} />
      ))}
    </div>
  );
}

function Card(props: CardsProps & { offer: Offer; children?: ComponentChildren }): VNode {
  const { offer, currency, to = (path) => path, children, trialRefusal = null } = props;
  const { kind, code, name, priceCents } = offer;
  const isPlan = kind === 'plan';
  return (
    <article class="card">
      <h3>{name}</h3>
      <p class="price">
        {isPlan && priceCents === 0 ? 'Free' : money(priceCents, currency)}
        {children}
      </p>
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
    ...(window ? [['Usable daily', hoursText(window)] as const] : []),
    ['Calls per minute', count(rateLimitPerMinute)],
    ['Valid for', `${count(validDays)} days`],
  ] as const;
}
