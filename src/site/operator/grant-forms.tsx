import type { VNode } from 'preact';
import type { StoredPlan } from '../../billing/grants.ts';
import { Choice, Field, FormFault, type FormFaults, type FormValues, PostForm } from '../kit/form.tsx';
import type { AccountNews } from './account-page.tsx';

const WALLETS = [
  ['general', 'General'],
  ['off_peak', 'Off-peak'],
] as const;

type Input = readonly [name: string, label: string, preset: string, most: number];

const SUBSCRIPTION: readonly Input[] = [
  ['quantity', 'How many', '1', 1_000],
  ['months', 'Months', '1', 120],
];

const PACK: readonly Input[] = [
  ['units', 'Units', '10000', 1_000_000_000_000],
  ['rate', 'Calls a minute', '60', 1_000_000],
  ['validDays', 'Valid for days', '365', 3_650],
];

/** A subscription or a pack for an account, without an order. */
export function GrantForms({
  path,
  csrf,
  plans,
  refused,
}: {
  path: string;
  csrf: string;
  plans: readonly StoredPlan[];
  refused?: NonNullable<AccountNews['refused']>;
}): VNode {
  return (
    <>
      {(['subscription', 'pack'] as const).map((form) => {
        const isRefused = refused?.form === form;
        const values: FormValues = isRefused ? refused.values : {};
        const faults: FormFaults = isRefused ? refused.faults : {};
        return (
          <details key={form} open={isRefused}>
            <summary>{form === 'subscription' ? 'A subscription' : 'A pack'}</summary>
            <PostForm action={`${path}/${form}`} csrf={csrf}>
              <FormFault faults={faults} />
              {form === 'subscription' && (
                <Choice
                  name="plan"
                  label="Plan"
                  options={plans.map(({ code, name }) => [code, name])}
                  value={values.plan}
                  fault={faults.plan}
                />
              )}
              <Choice
                name="wallet"
                id={`${form}-wallet`}
                label="Wallet"
                options={WALLETS}
                value={values.wallet}
                fault={faults.wallet}
              />
              {(form === 'subscription' ? SUBSCRIPTION : PACK).map(([name, label, preset, most]) => (
                <Field
                  key={name}
                  name={name}
                  label={label}
                  type="number"
                  min={1}
                  max={most}
                  required
                  value={values[name] ?? preset}
                  fault={faults[name]}
                />
              ))}
              {form === 'subscription' && (
                <Field
                  name="starts"
                  label="Begins"
                  value={values.starts}
                  fault={faults.starts}
                  hint="Such as 2027-01-31; nothing: now."
                />
              )}
              <button type="submit" class="primary">
                {form === 'subscription' ? 'Give the subscription' : 'Give the pack'}
              </button>
            </PostForm>
          </details>
        );
      })}
    </>
  );
}
