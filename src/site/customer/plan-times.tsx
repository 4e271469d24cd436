import type { VNode } from 'preact';
import type { SubscriptionTime } from '../../billing/grants.ts';
import type { Wallet } from '../../billing/wallets.ts';
import { Table } from '../kit/table.tsx';
import { Tag } from '../kit/tag.tsx';
import { Time, WALLET_NAMES } from '../kit/words.tsx';

/** The plans of an account that run or wait, in the order of their starts; nothing for an account without one. */
export function PlanTimes({ plans, now }: { plans: readonly SubscriptionTime[]; now: number }): VNode | null {
  if (plans.length === 0) return null;
  return (
    <>
      <h2>Your plans</h2>
      <Table
        name="Your plans"
        rows={plans}
        stacks
        columns={[
          ['Plan', planText],
          ['Wallet', ({ wallet }) => WALLET_NAMES[wallet]],
          [
            'State',
            (plan) => (waits(plan, now) ? <Tag tone="warn">Waiting</Tag> : <Tag tone="good">Running</Tag>),
          ],
          ['Starts', ({ startsAt }) => <Time at={startsAt} />],
          ['Ends', ({ endsAt }) => <Time at={endsAt} />],
        ]}
      />
    </>
  );
}

/** The plans of a wallet that follow the present one. */
export function WaitingPlans(props: {
  plans: readonly SubscriptionTime[];
  wallet: Wallet;
  now: number;
}): VNode {
  const { plans, wallet, now } = props;
  return (
    <>
      {plans
        .filter((plan) => plan.wallet === wallet && waits(plan, now))
        .map((plan) => (
          <p key={plan.id}>
            Next: <strong>{planText(plan)}</strong>, from <Time at={plan.startsAt} /> until{' '}
            <Time at={plan.endsAt} />
          </p>
        ))}
    </>
  );
}

/** Says what happens to the plans of the wallet of a plan that is for sale. */
export function PlanTimesNotice(props: {
  plans: readonly SubscriptionTime[];
  startsAt: Date;
  renews: boolean;
  now: number;
}): VNode | null {
  const { plans, startsAt, renews, now } = props;
  const [present] = plans;
  if (!present) return null;
  if (startsAt.getTime() <= now)
    return (
      <div class="notice good">
        <p>
          This plan starts as soon as the purchase is complete. Your free plan {present.planName} ends then,
          with the units that are left of it.
        </p>
      </div>
    );
  return (
    <div class="notice warn">
      <p>
        {plans.map((plan, i) => (
          <span key={plan.id}>
            {i > 0 ? 'Then ' : waits(plan, now) ? 'Your plan ' : 'Your current plan, '}
            {planText(plan)}
            {i === 0 && !waits(plan, now) ? ',' : ''} runs until <Time at={plan.endsAt} />.{' '}
          </span>
        ))}
        A wallet has one plan at a time, so{' '}
        {renews ? 'a plan that renews can be bought then' : 'the new plan starts then'}. To get more units
        before that, buy a pack.
      </p>
    </div>
  );
}

function planText({ planName, quantity }: SubscriptionTime): string {
  return `${planName}${quantity > 1 ? ` × ${quantity}` : ''}`;
}

function waits({ startsAt }: SubscriptionTime, now: number): boolean {
  return startsAt.getTime() > now;
}
