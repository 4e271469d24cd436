import type { VNode } from 'preact';
import type { OperatorPack, OperatorPlan } from '../../billing/payments/change-offers.ts';
import { windowText } from '../../billing/wallets.ts';
import { Choice, Field, HiddenFields, PostForm } from '../kit/form.tsx';
import type { FormState, FormValues } from '../kit/form-request.ts';
import { WALLET_NAMES } from '../kit/words.tsx';
import { OwnWindow } from './own-window.tsx';

type Column = readonly [name: string, label: string, hint?: string];

const PLAN_NUMBERS: readonly Column[] = [
  ['minuteLimit', 'Calls per minute', 'Empty: unlimited.'],
  ['dailyLimit', 'Units per day', 'Empty: unlimited.'],
  ['monthlyLimit', 'Units per month', 'Empty: unlimited.'],
];

const PACK_NUMBERS: readonly Column[] = [
  ['units', 'Units'],
  ['rateLimitPerMinute', 'Calls per minute'],
  ['validDays', 'Valid for (days)'],
];

/** The form that creates or changes a plan or a pack. */
export function OfferForm(props: { kind: 'plan' | 'pack'; form: FormState; currency: string }): VNode {
  const { kind, form, currency } = props;
  const { code, name, isNew, isOffered } = form.values;
  const isPack = kind === 'pack';
  return (
    <section class="card">
      <PostForm action={`/admin/offers/${kind}`} form={form}>
        {isNew === '1' ? <NewCode /> : <PresentCode code={code} />}
        <Field name="name" label="Name" required maxLength={60} />
        {isPack && <Choice name="wallet" label="Wallet" options={Object.entries(WALLET_NAMES)} />}
        {(isPack ? PACK_NUMBERS : PLAN_NUMBERS).map(([column, label, hint]) => (
          <Field
            key={column}
            name={column}
            label={label}
            type="number"
            min={1}
            hint={hint}
            required={isPack}
          />
        ))}
        {isPack && <OwnWindow />}
        <Field
          name="price"
          label={`Price in ${currency.toUpperCase()}${isPack ? '' : ' per month'}`}
          required={isPack}
          hint={isPack ? undefined : 'Empty: the plan can only be granted, not bought.'}
        />
        <Tick name="isOffered" label="For sale" checked={name === undefined || isOffered === '1'} />
        {!isPack && (
          <Tick
            name="renews"
            label="Renews each month (Stripe only; other payment methods sell it for some months)"
            checked={form.values.renews === '1'}
          />
        )}
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

function Tick({ name, label, checked }: { name: string; label: string; checked: boolean }): VNode {
  return (
    <p>
      <label>
        <input type="checkbox" name={name} value="1" checked={checked} /> {label}
      </label>
    </p>
  );
}

function NewCode(): VNode {
  return (
    <>
      <HiddenFields fields={{ isNew: '1' }} />
      <Field
        name="code"
        label="Code"
        required
        maxLength={40}
        hint="Lower-case letters, digits and hyphens. It cannot be changed later."
      />
    </>
  );
}

function PresentCode({ code }: { code: string | undefined }): VNode {
  return (
    <>
      <HiddenFields fields={{ code }} />
      <p>
        <code>{code}</code>
      </p>
    </>
  );
}

export function valuesOfPlan(plan: OperatorPlan): FormValues {
  const { code, name, priceCents, isOffered, renews } = plan;
  return {
    code,
    name,
    minuteLimit: textOf(plan.minuteLimit),
    dailyLimit: textOf(plan.dailyLimit),
    monthlyLimit: textOf(plan.monthlyLimit),
    price: priceCents === null ? '' : amountOf(priceCents),
    isOffered: isOffered ? '1' : '',
    renews: renews ? '1' : '',
  };
}

export function valuesOfPack(pack: OperatorPack): FormValues {
  const { code, name, wallet, priceCents, isOffered } = pack;
  return {
    ...{ code, name, wallet },
    units: textOf(pack.units),
    rateLimitPerMinute: textOf(pack.rateLimitPerMinute),
    validDays: textOf(pack.validDays),
    window: pack.window ? windowText(pack.window) : '',
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
