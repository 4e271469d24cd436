import type { VNode } from 'preact';
import type { KeptPack, KeptPlan } from '../../billing/payments/change-offers.ts';
import { Choice, Field, FormFault, type FormFaults, type FormValues, PostForm } from '../kit/form.tsx';

type Column = readonly [name: string, label: string, hint?: string];

const PLAN_NUMBERS: readonly Column[] = [
  ['minuteLimit', 'Calls a minute', 'Nothing: not limited.'],
  ['dailyLimit', 'Units a day', 'Nothing: not limited.'],
  ['monthlyLimit', 'Units a month', 'Nothing: not limited.'],
];

const PACK_NUMBERS: readonly Column[] = [
  ['units', 'Units'],
  ['rateLimitPerMinute', 'Calls a minute'],
  ['validDays', 'Valid for days'],
];

/** A plan or a pack, to be made or changed. */
export function OfferForm(props: {
  kind: 'plan' | 'pack';
  isNew: boolean;
  values: FormValues;
  faults: FormFaults;
  csrf: string;
  currency: string;
}): VNode {
  const { kind, isNew, values, faults, csrf, currency } = props;
  const isOffered = values.name === undefined || values.isOffered === '1';
  return (
    <section class="card">
      <PostForm action={`/admin/offers/${kind}`} csrf={csrf}>
        <FormFault faults={faults} />
        {isNew ? (
          <>
            <input type="hidden" name="isNew" value="1" />
            <Field
              name="code"
              label="Code"
              required
              maxLength={40}
              value={values.code}
              fault={faults.code}
              hint="Small letters, digits and -. It stays."
            />
          </>
        ) : (
          <>
            <input type="hidden" name="code" value={values.code} />
            <p>
              <code>{values.code}</code>
            </p>
          </>
        )}
        <Field name="name" label="Name" required maxLength={60} value={values.name} fault={faults.name} />
        {kind === 'pack' && (
          <Choice
            name="wallet"
            label="Wallet"
            value={values.wallet}
            options={[
              ['general', 'General'],
              ['off_peak', 'Off-peak'],
            ]}
            fault={faults.wallet}
          />
        )}
        {(kind === 'plan' ? PLAN_NUMBERS : PACK_NUMBERS).map(([name, label, hint]) => (
          <Field
            key={name}
            name={name}
            label={label}
            type="number"
            min={1}
            value={values[name]}
            fault={faults[name]}
            hint={hint}
            required={kind === 'pack'}
          />
        ))}
        <Field
          name="price"
          label={`Price in ${currency.toUpperCase()}${kind === 'plan' ? ', a month' : ''}`}
          value={values.price}
          fault={faults.price}
          required={kind === 'pack'}
          hint={kind === 'plan' ? 'Nothing: it is not sold, only given.' : undefined}
        />
        <p>
          <label>
            <input type="checkbox" name="isOffered" value="1" checked={isOffered} /> For sale
          </label>
        </p>
        <div class="row">
          <button type="submit" class="primary">
            Save
          </button>
          <a class="button" href="/admin/offers">
            Back
          </a>
        </div>
      </PostForm>
    </section>
  );
}

export function valuesOfPlan(plan: KeptPlan): FormValues {
  const { code, name, priceCents, isOffered } = plan;
  return {
    code,
    name,
    minuteLimit: textOf(plan.minuteLimit),
    dailyLimit: textOf(plan.dailyLimit),
    monthlyLimit: textOf(plan.monthlyLimit),
    price: priceCents === null ? '' : amountOf(priceCents),
    isOffered: isOffered ? '1' : '',
  };
}

export function valuesOfPack(pack: KeptPack): FormValues {
  const { code, name, wallet, priceCents, isOffered } = pack;
  return {
    ...{ code, name, wallet },
    units: textOf(pack.units),
    rateLimitPerMinute: textOf(pack.rateLimitPerMinute),
    validDays: textOf(pack.validDays),
    price: amountOf(priceCents),
    isOffered: isOffered ? '1' : '',
  };
}

function textOf(value: number | null): string {
  return value === null ? '' : String(value);
}

function amountOf(cents: number): string {
  return (cents / 100).toFixed(2);
}
