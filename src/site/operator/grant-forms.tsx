import type { VNode } from 'preact';
import type { StoredPlan } from '../../billing/grants.ts';
import { Choice, Field, PostForm, Submit } from '../kit/form.tsx';
import { WALLET_NAMES } from '../kit/words.tsx';
import type { AccountExtras } from './account-page.tsx';
import { OwnWindow } from './offers.tsx';

type Kind = 'subscription' | 'pack';

const SUMMARIES: Record<Kind, string> = { subscription: 'Subscription', pack: 'Pack' };

const NUMBERS: Record<
  Kind,
  readonly (readonly [name: string, label: string, preset: string, most: number])[]
> = {
  subscription: [
    ['quantity', 'Quantity', '1', 1_000],
    ['months', 'Months', '1', 120],
  ],
  pack: [
    ['units', 'Units', '10000', 1_000_000_000_000],
    ['rate', 'Calls per minute', '60', 1_000_000],
    ['validDays', 'Valid for (days)', '365', 3_650],
  ],
};

interface GrantProps {
  path: string;
  plans: readonly StoredPlan[];
  refused: AccountExtras['refused'];
}

/** Forms that grant an account a subscription or a pack without a purchase. */
export function GrantForms(props: GrantProps): VNode {
  return (
    <>
      <GrantForm kind="subscription" {...props} />
      <GrantForm kind="pack" {...props} />
    </>
  );
}

function GrantForm({ kind, path, plans, refused }: GrantProps & { kind: Kind }): VNode {
  const isSubscription = kind === 'subscription';
  const isRefused = refused?.kind === kind;
  return (
    <details open={isRefused}>
      <summary>{SUMMARIES[kind]}</summary>
      <PostForm action={`${path}/${kind}`} form={isRefused ? refused.form : undefined}>
        {isSubscription && (
          <Choice name="plan" label="Plan" options={plans.map(({ code, name }) => [code, name])} />
        )}
        <Choice name="wallet" id={`${kind}-wallet`} label="Wallet" options={Object.entries(WALLET_NAMES)} />
        {NUMBERS[kind].map(([name, label, preset, most]) => (
          <Field
            key={name}
            name={name}
            label={label}
            type="number"
            min={1}
            max={most}
            required
            preset={preset}
          />
        ))}
        {!isSubscription && <OwnWindow />}
        {isSubscription && (
          <Field name="starts" label="Starts" hint="A date such as 2027-01-31. Default: now." />
        )}
        <Submit>{isSubscription ? 'Grant subscription' : 'Grant pack'}</Submit>
      </PostForm>
    </details>
  );
}
