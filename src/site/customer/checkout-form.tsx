import type { VNode } from 'preact';
import { OFF_PEAK_PRICE_SHARE, type Offer } from '../../billing/payments/offers.ts';
import type { ProviderName } from '../../billing/payments/orders.ts';
import type { OffPeakWindow } from '../../billing/wallets.ts';
import { Choice, Field, FormFault, type FormFaults, type FormValues, PostForm } from '../kit/form.tsx';
import { count, money, WALLET_NAMES } from '../kit/words.tsx';
import { DemoNotice } from './plans.tsx';

const BUTTONS: Record<ProviderName, string> = {
  demo: 'Buy, in this demo for nothing',
  manual: 'Order',
  stripe: 'Pay with Stripe',
};

/** What is bought, how much of it, and the price. */
export function CheckoutForm(props: {
  offer: Offer;
  csrf: string;
  /** Of the order that this form will be: sent twice, it is one order. */
  orderId: string;
  values: FormValues;
  faults: FormFaults;
  currency: string;
  provider: ProviderName;
  amountCents: number;
  offPeak: OffPeakWindow;
}): VNode {
  const { offer, csrf, orderId, values, faults, currency, provider, amountCents, offPeak } = props;
  const isFree = offer.priceCents === 0;
  return (
    <>
      {provider === 'demo' && <DemoNotice />}
      <div class="split">
        <section class="card">
          <h2>{offer.name}</h2>
          <OfferFacts offer={offer} />
        </section>
        <section class="card">
          <h2>Order</h2>
          <PostForm action="/account/checkout" csrf={csrf}>
            <FormFault faults={faults} />
            <input type="hidden" name="orderId" value={orderId} />
            <input type="hidden" name="kind" value={offer.kind} />
            <input type="hidden" name="code" value={offer.code} />
            <input type="hidden" name="priceCents" value={offer.priceCents} />
            {offer.kind === 'plan' && (
              <Choice
                name="wallet"
                label="Hours"
                value={values.wallet}
                options={[
                  ['general', 'The whole day'],
                  ['off_peak', `Off-peak only, ${offPeak.start} to ${offPeak.end} (${offPeak.timezone})`],
                ]}
                fault={faults.wallet}
                hint={isFree ? undefined : `Off-peak costs ${OFF_PEAK_PRICE_SHARE * 100} %.`}
              />
            )}
            {!isFree && (
              <>
                <Field
                  name="quantity"
                  label="How many"
                  type="number"
                  min={1}
                  max={100}
                  required
                  value={values.quantity ?? '1'}
                  fault={faults.quantity}
                  hint={offer.kind === 'plan' ? 'Multiplies the limits of the plan.' : undefined}
                />
                {offer.kind === 'plan' && (
                  <Field
                    name="months"
                    label="Months"
                    type="number"
                    min={1}
                    max={12}
                    required
                    value={values.months ?? '1'}
                    fault={faults.months}
                  />
                )}
              </>
            )}
            <p>
              <span class="hint">In all </span>
              <output
                class="figure"
                data-price-cents={offer.priceCents}
                data-off-peak-share={OFF_PEAK_PRICE_SHARE}
                data-currency={currency.toUpperCase()}
              >
                {money(amountCents, currency)}
              </output>
            </p>
            <button type="submit" class="primary">
              {isFree ? 'Take it' : BUTTONS[provider]}
            </button>
          </PostForm>
          {provider === 'manual' && !isFree && (
            <p class="hint">The operator confirms your payment; the units are yours from then on.</p>
          )}
        </section>
      </div>
    </>
  );
}

function OfferFacts({ offer }: { offer: Offer }): VNode {
  if (offer.kind === 'pack') {
    return (
      <dl class="facts">
        <dt>Units</dt>
        <dd>{count(offer.units)}</dd>
        <dt>Wallet</dt>
        <dd>{WALLET_NAMES[offer.wallet]}</dd>
        <dt>Calls a minute</dt>
        <dd>{count(offer.rateLimitPerMinute)}</dd>
        <dt>Valid</dt>
        <dd>{count(offer.validDays)} days</dd>
      </dl>
    );
  }
  return (
    <dl class="facts">
      <dt>Calls a minute</dt>
      <dd>{count(offer.minuteLimit)}</dd>
      <dt>Units a day</dt>
      <dd>{count(offer.dailyLimit)}</dd>
      <dt>Units a month</dt>
      <dd>{count(offer.monthlyLimit)}</dd>
    </dl>
  );
}
