import type { VNode } from 'preact';
import type { PackOffer, PlanOffer } from '../../billing/payments/offers.ts';
import { count, money, WALLET_NAMES } from '../kit/words.tsx';

interface CardsProps {
  currency: string;
  /** The address that a path of the account is reached by. */
  to: (path: string) => string;
}

/** What plans there are, with limits and prices. */
export function PlanCards({ plans, currency, to }: CardsProps & { plans: readonly PlanOffer[] }): VNode {
  if (plans.length === 0) return <p class="empty card">No plans are for sale at the moment.</p>;
  return (
    <div class="grid offers">
      {plans.map(({ code, name, priceCents, minuteLimit, dailyLimit, monthlyLimit }) => (
        <article class="card" key={code}>
          <h3>{name}</h3>
          <p class="price">
            {priceCents === 0 ? 'Free' : money(priceCents, currency)}
            <small> {priceCents === 0 ? 'for a month' : 'a month'}</small>
          </p>
          <dl class="facts">
            <dt>Calls a minute</dt>
            <dd>{count(minuteLimit)}</dd>
            <dt>Units a day</dt>
            <dd>{count(dailyLimit)}</dd>
            <dt>Units a month</dt>
            <dd>{count(monthlyLimit)}</dd>
          </dl>
          <a class="button primary" href={to(`/account/checkout?kind=plan&code=${encodeURIComponent(code)}`)}>
            Choose {name}
          </a>
        </article>
      ))}
    </div>
  );
}

/** What packs there are: units that last until they are used or run out. */
export function PackCards({ packs, currency, to }: CardsProps & { packs: readonly PackOffer[] }): VNode {
  if (packs.length === 0) return <p class="empty card">No packs are for sale at the moment.</p>;
  return (
    <div class="grid offers">
      {packs.map(({ code, name, wallet, priceCents, rateLimitPerMinute, validDays }) => (
        <article class="card" key={code}>
          <h3>{name}</h3>
          <p class="price">{money(priceCents, currency)}</p>
          <dl class="facts">
            <dt>Wallet</dt>
            <dd>{WALLET_NAMES[wallet]}</dd>
            <dt>Calls a minute</dt>
            <dd>{count(rateLimitPerMinute)}</dd>
            <dt>Valid</dt>
            <dd>{count(validDays)} days</dd>
          </dl>
          <a class="button" href={to(`/account/checkout?kind=pack&code=${encodeURIComponent(code)}`)}>
            Buy {name}
          </a>
        </article>
      ))}
    </div>
  );
}
