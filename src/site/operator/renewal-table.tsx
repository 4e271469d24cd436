import type { VNode } from 'preact';
import type { RenewingPlan } from '../../billing/renewals/renewing-plans.ts';
import { RenewalTag } from '../customer/renewal-cards.tsx';
import { Table } from '../kit/table.tsx';
import { money, Time, WALLET_NAMES } from '../kit/words.tsx';

/** The plans of an account that Stripe renews. */
export function RenewalTable({ plans }: { plans: readonly RenewingPlan[] }): VNode {
  return (
    <>
      <h2>Plans that renew</h2>
      <Table
        name="Plans that renew"
        rows={plans}
        columns={[
          ['Plan', planText],
          ['Wallet', ({ wallet }) => WALLET_NAMES[wallet]],
          ['State', (plan) => <RenewalTag plan={plan} />],
          ['Paid until', ({ periodEnd }) => <Time at={periodEnd} />],
          ['Grace until', ({ graceUntil }) => <Time at={graceUntil} />],
          ['Next payment', ({ amountCents, currency }) => money(amountCents, currency), 'number'],
          ["Stripe's id", ({ id }) => <code class="id">{id}</code>],
        ]}
      />
    </>
  );
}

function planText({ planName, quantity, nextPlanName }: RenewingPlan): string {
  return `${planName}${quantity > 1 ? ` × ${quantity}` : ''}${nextPlanName === null ? '' : `, then ${nextPlanName}`}`;
}
