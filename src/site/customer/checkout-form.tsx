import type { VNode } from 'preact';
import { v7 as uuid } from 'uuid';
import { z } from 'zod';
import { amountOf, OFF_PEAK_PRICE_SHARE, type Offer } from '../../billing/payments/offers.ts';
import type { ProviderName } from '../../billing/payments/purchases.ts';
import type { OffPeakWindow } from '../../billing/wallets.ts';
import { Facts } from '../kit/facts.tsx';
import { Choice, Field, HiddenFields, PostForm } from '../kit/form.tsx';
import type { FormState } from '../kit/form-request.ts';
import { count, money } from '../kit/words.tsx';
import { packFacts, planFacts } from './offer-cards.tsx';
import { DemoNotice } from './plans.tsx';

const MAX = { quantity: 100, months: 12 } as const;

const wholeNumber = (most: number) => {
  const problem = `must be a whole number from 1 to ${most}`;
  return z.coerce.number({ error: problem }).int(problem).min(1, problem).max(most, problem);
};

export const checkoutSchema = z.object({
  orderId: z.uuid('is required'),
  kind: z.enum(['plan', 'pack']),
  code: z.string().min(1).max(100),
  /** The price of the offer that the form showed, in cents. */
  priceCents: z.string().optional(),
  wallet: z.enum(['general', 'off_peak'], 'must be general or off_peak').default('general'),
  quantity: wholeNumber(MAX.quantity).default(1),
  months: wholeNumber(MAX.months).default(1),
});

const BUTTONS: Record<ProviderName, string> = {
  demo: 'Complete purchase',
  manual: 'Confirm purchase',
  stripe: 'Pay with Stripe',
};

interface CheckoutProps {
  offer: Offer;
  form: FormState;
  currency: string;
  provider: ProviderName;
  offPeak: OffPeakWindow;
}

/** The checkout page: the offer, the quantity and the price. */
export function Checkout(props: CheckoutProps): VNode {
  const { offer, provider } = props;
  const facts =
    offer.kind === 'plan' ? planFacts(offer) : [['Units', count(offer.units)] as const, ...packFacts(offer)];
  return (
    <>
      {provider === 'demo' && <DemoNotice />}
      <div class="split">
        <section class="card">
          <h2>{offer.name}</h2>
          <Facts facts={facts} />
        </section>
        <section class="card">
          <h2>Checkout</h2>
          <CheckoutForm {...props} />
          {provider === 'manual' && offer.priceCents > 0 && (
            <p class="hint">Your units become available when the operator confirms your payment.</p>
          )}
        </section>
      </div>
    </>
  );
}

function CheckoutForm({ offer, form, currency, provider, offPeak }: CheckoutProps): VNode {
  const { kind, code, priceCents } = offer;
  const isFree = priceCents === 0;
  const renews = offer.kind === 'plan' && offer.renews && !isFree && provider === 'stripe';
  // With the id, a form that is sent twice creates one purchase.
  const hidden = { orderId: uuid(), kind, code, priceCents: String(priceCents) };
  const wallet = form.values.wallet === 'off_peak' ? 'off_peak' : 'general';
  return (
    <PostForm action="/account/checkout" form={form}>
      <HiddenFields fields={hidden} />
      {kind === 'plan' && (
        <Choice
          name="wallet"
          label="Hours"
          options={[
            ['general', 'All day'],
            ['off_peak', `Off-peak only, ${offPeak.start} to ${offPeak.end} (${offPeak.timezone})`],
          ]}
          hint={isFree ? undefined : `Off-peak costs ${OFF_PEAK_PRICE_SHARE * 100} % of the price.`}
        />
      )}
      {!isFree && <Amounts kind={kind} hasMonths={kind === 'plan' && !renews} />}
      {renews && <p class="hint">Renews each month until you cancel it.</p>}
      <p>
        <span class="hint">{renews ? 'Total per month ' : 'Total '}</span>
        <output
          class="figure"
          data-price-cents={priceCents}
          data-off-peak-share={OFF_PEAK_PRICE_SHARE}
          data-currency={currency.toUpperCase()}
        >
          {money(amountOf(offer, { wallet, quantity: 1, months: 1 }), currency)}
        </output>
      </p>
      <button type="submit" class="primary">
        {isFree ? 'Get it for free' : BUTTONS[provider]}
      </button>
    </PostForm>
  );
}

function Amounts({ kind, hasMonths }: { kind: Offer['kind']; hasMonths: boolean }): VNode {
  const shared = { type: 'number', preset: '1', min: 1, required: true } as const;
  return (
    <>
      <Field
        name="quantity"
        label="Quantity"
        {...shared}
        max={MAX.quantity}
        hint={kind === 'plan' ? 'Multiplies the limits of the plan.' : undefined}
      />
      {hasMonths && <Field name="months" label="Months" {...shared} max={MAX.months} />}
    </>
  );
}
