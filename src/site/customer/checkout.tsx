import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { VNode } from 'preact';
import { v7 as uuid } from 'uuid';
import { z } from 'zod';
import { nextSubscriptionStart, subscriptionTimes } from '../../billing/grants.ts';
import { amountOf, findOffer, OFF_PEAK_PRICE_SHARE, type Offer } from '../../billing/payments/offers.ts';
import { PaymentUnavailable } from '../../billing/payments/payment-port.ts';
import { PurchaseRefused, trialRefusal } from '../../billing/payments/purchase-rules.ts';
import { createPurchase, isRenewed, type ProviderName } from '../../billing/payments/purchases.ts';
import {
  bestPrice,
  CouponRefused,
  type Reduction,
  reductionsFor,
  writtenReduction,
} from '../../billing/payments/reductions.ts';
import { ERRORS, SoukError } from '../../platform/errors.ts';
import { Card, Facts } from '../kit/elements.tsx';
import { Choice, Field, Fields, HiddenFields, PostForm, Submit } from '../kit/form.tsx';
import {
  FormRefused,
  type FormState,
  type FormValues,
  NO_INPUT,
  postForm,
  readValues,
} from '../kit/form-request.ts';
import { Page } from '../kit/layout.tsx';
import { sendPage } from '../kit/render.tsx';
import { count, counted, money, Time } from '../kit/words.tsx';
import { noteActs } from '../page-acts.ts';
import type { Pages } from '../pages.ts';
import { customerOf } from '../session.ts';
import { DemoNotice, PlanTimesNotice, packFacts, planFacts } from './plans.tsx';
import { countPaymentRequest, payPurchase } from './purchases.tsx';

/** Registers the checkout of a plan or a pack: the form with its price, and the payment. */
export function registerCheckout(scope: FastifyInstance, pages: Pages): void {
  const { database, clock, payments, currency, trials } = pages;
  scope.get('/account/checkout', async (request, reply) => {
    const offer = await offerIn(pages, request.query);
    if (!offer) return reply.redirect('/account/plans', 303);
    return showForm(reply, offer, NO_INPUT);
  });
  postForm(scope, '/account/checkout', checkoutSchema, showAgain, async (input, request, reply, values) => {
    const { priceCents, kind, code, orderId, intent, terms, ...chosen } = input;
    const offer = await offerOnSale(pages, { kind, code });
    if (priceCents !== undefined && priceCents !== String(offer.priceCents))
      throw new FormRefused(409, {
        '': 'The price has changed since this page was loaded. Check the new price and send the form again.',
      });
    const { liveAccountId: accountId } = customerOf(request);
    await countPaymentRequest(pages, accountId);
    const refusal = offer.priceCents === 0 ? await trialRefusal(database, trials, accountId) : null;
    if (refusal !== null) throw new FormRefused(403, { '': refusal });
    const reductions = await reductionsOf(pages, request, offer, chosen.coupon);
    if (intent === 'apply' || (terms !== undefined && terms !== termsOf(reductions))) {
      // Nothing is bought at a price that the form has not shown.
      noteActs(request);
      return sendForm(pages, reply, offer, { form: { values, faults: {} }, reductions, isChecked: true });
    }
    try {
      const purchase = {
        purchaseId: orderId,
        ...chosen,
        accountId,
        offer,
        currency,
        provider: payments.name,
      };
      return await payPurchase(pages, reply, await createPurchase(database, purchase, clock.now()));
    } catch (error) {
      if (error instanceof CouponRefused) throw new FormRefused(409, { coupon: error.message });
      if (error instanceof PurchaseRefused) throw new FormRefused(409, { '': error.message });
      if (!(error instanceof PaymentUnavailable)) throw error;
      noteFailure(pages, request, error);
      throw new FormRefused(502, { '': `${error.message} Nothing was bought.` });
    }
  });

  async function showAgain(reply: FastifyReply, form: FormState, status?: number): Promise<FastifyReply> {
    return showForm(reply, await offerOnSale(pages, form.values), form, status);
  }

  /** Shows the page without a coupon. */
  async function showForm(reply: FastifyReply, offer: Offer, form: FormState, status?: number) {
    const reductions = await reductionsOf(pages, reply.request, offer, '');
    return sendForm(pages, reply, offer, { form, reductions, isChecked: false }, status);
  }
}

/** What a checkout page shows. */
interface Shown {
  form: FormState;
  /** What may reduce the price: the best one does. */
  reductions: readonly Reduction[];
  /** The customer has asked for this price, or it has changed. */
  isChecked: boolean;
}

/**
 * The reductions that a customer may have for an offer. Wrong codes of coupons are counted for the account and the network.
 * @throws FormRefused.
 */
async function reductionsOf(
  { database, clock, currency, attempts }: Pages,
  request: FastifyRequest,
  offer: Offer,
  coupon: string,
): Promise<Reduction[]> {
  const { liveAccountId: accountId } = customerOf(request);
  const wanted = { accountId, offer, currency, coupon };
  if (coupon === '') return reductionsFor(database, wanted, clock.now());
  const waitSeconds = await attempts.countCoupon(accountId, request.ip);
  if (waitSeconds !== null)
    throw new FormRefused(429, {
      coupon: `Too many codes that were wrong. Try again in ${counted(Math.ceil(waitSeconds / 60), 'minute')}, or remove the code.`,
    });
  try {
    const reductions = await reductionsFor(database, wanted, clock.now());
    await attempts.forgiveCoupon(accountId, request.ip);
    return reductions;
  } catch (error) {
    if (error instanceof CouponRefused) throw new FormRefused(409, { coupon: error.message });
    throw error;
  }
}

/** Identifies the reductions from which a form has computed its price. */
function termsOf(reductions: readonly Reduction[]): string {
  return reductions.map(({ id }) => id).join('.');
}

/** Logs a payment that could not be started. Unless the customer's bank declined it, it is in the failure log. */
function noteFailure({ log, events }: Pages, request: FastifyRequest, error: PaymentUnavailable): void {
  log.warn({ err: error }, 'failed to start a payment');
  if (error.isDeclined) return;
  events.emit({
    type: 'failure',
    code: ERRORS.UPSTREAM_ERROR.code,
    place: request.routeOptions.url ?? '',
    requestId: request.id,
    accountId: customerOf(request).liveAccountId,
    cause: error,
  });
}

async function offerIn({ database }: Pages, asked: unknown): Promise<Offer | null> {
  const { kind, code = '' } = readValues(asked);
  if ((kind !== 'plan' && kind !== 'pack') || !/^[\x20-\x7e]{1,100}$/.test(code)) return null;
  return findOffer(database, kind, code);
}

async function offerOnSale(pages: Pages, asked: FormValues): Promise<Offer> {
  const offer = await offerIn(pages, asked);
  if (!offer)
    throw new SoukError('NOT_FOUND', {
      message: 'This offer is no longer for sale. See the plans and packs for present offers.',
    });
  return offer;
}

async function sendForm(
  { database, clock, payments, currency, offPeak }: Pages,
  reply: FastifyReply,
  offer: Offer,
  shown: Shown,
  status?: number,
): Promise<FastifyReply> {
  const { form } = shown;
  const { liveAccountId: accountId } = customerOf(reply.request);
  const wallet = form.values.wallet === 'off_peak' ? 'off_peak' : 'general';
  const now = clock.now();
  const isPaid = offer.priceCents > 0;
  const renews = isRenewed(offer, payments.name);
  const [startsAt, plans] = await Promise.all([
    nextSubscriptionStart(database, { accountId, wallet, isPaid }, now),
    subscriptionTimes(database, accountId, now),
  ]);
  return sendPage(
    reply,
    <Page
      title={`Buy ${offer.name}`}
      heading={<>Buy {offer.name}</>}
      path="/account/plans"
      scripts={['checkout.js']}
    >
      <Checkout offer={offer} {...shown} currency={currency} offPeak={offPeak} provider={payments.name} />
      {offer.kind === 'plan' && (
        <PlanTimesNotice
          startsAt={startsAt}
          renews={renews}
          now={now}
          plans={plans.filter((plan) => plan.wallet === wallet)}
        />
      )}
    </Page>,
    status,
  );
}

const MAX = { quantity: 100, months: 12 } as const;

const wholeNumber = (most: number) => {
  const problem = `must be a whole number from 1 to ${most}`;
  return z.coerce.number({ error: problem }).int(problem).min(1, problem).max(most, problem);
};

const checkoutSchema = z.object({
  orderId: z.uuid('is required'),
  kind: z.enum(['plan', 'pack']),
  code: z.string().min(1).max(100),
  /** The price of the offer that the form showed, in cents. */
  priceCents: z.string().optional(),
  wallet: z.enum(['general', 'off_peak'], 'must be general or off_peak').default('general'),
  coupon: z.string().trim().max(40, 'must have at most 40 characters').default(''),
  /** apply: shows the price with the coupon. */
  intent: z.string().optional(),
  /** The reductions from which the form has computed the price that it shows. */
  terms: z.string().optional(),
  quantity: wholeNumber(MAX.quantity).default(1),
  months: wholeNumber(MAX.months).default(1),
});

const BUTTONS: Record<ProviderName, string> = {
  demo: 'Complete purchase',
  manual: 'Confirm purchase',
  stripe: 'Pay with Stripe',
};

type CheckoutProps = Shown & Pick<Pages, 'currency' | 'offPeak'> & { offer: Offer; provider: ProviderName };

/** The checkout page: the offer, the quantity and the price. */
function Checkout(props: CheckoutProps): VNode {
  const { offer, provider } = props;
  const facts =
    offer.kind === 'plan' ? planFacts(offer) : [['Units', count(offer.units)] as const, ...packFacts(offer)];
  return (
    <>
      {provider === 'demo' && <DemoNotice />}
      <div class="split">
        <Card>
          <h2>{offer.name}</h2>
          <Facts facts={facts} />
        </Card>
        <Card title="Checkout">
          <CheckoutForm {...props} />
          {provider === 'manual' && offer.priceCents > 0 && (
            <p class="hint">Your units become available when the operator confirms your payment.</p>
          )}
        </Card>
      </div>
    </>
  );
}

function CheckoutForm(props: CheckoutProps): VNode {
  const { offer, form, provider, offPeak, reductions } = props;
  const { kind, code, priceCents } = offer;
  const isFree = priceCents === 0;
  const renews = isRenewed(offer, provider);
  // With the id, a form that is sent twice creates one purchase.
  const hidden = { orderId: uuid(), kind, code, priceCents: String(priceCents), terms: termsOf(reductions) };
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
      {!isFree && <CouponField />}
      <Total {...props} isMonthly={renews} />
      <Submit>{isFree ? 'Get it for free' : BUTTONS[provider]}</Submit>
    </PostForm>
  );
}

function CouponField(): VNode {
  return (
    <div class="coupon">
      <Field
        name="coupon"
        label="Coupon code"
        maxLength={40}
        autocomplete="off"
        hint="Optional. One reduction applies: the one with which you pay least."
      />
      <button type="submit" name="intent" value="apply">
        Apply
      </button>
    </div>
  );
}

/** The price of the purchase, which the script of the page computes again while the form is filled in. */
function Total(props: CheckoutProps & { isMonthly: boolean }): VNode {
  const { offer, form, currency, reductions, isChecked, isMonthly } = props;
  const { listCents, amountCents, reduction } = bestPrice(amountOf(offer, chosenTerms(form)), reductions);
  return (
    <div id="total" role={isChecked ? 'status' : undefined}>
      {isChecked && <p>Check the price, then complete the purchase.</p>}
      <p>
        <span class="hint">{isMonthly ? 'Total per month ' : 'Total '}</span>
        <output
          class="figure"
          data-price-cents={offer.priceCents}
          data-off-peak-share={OFF_PEAK_PRICE_SHARE}
          data-currency={currency.toUpperCase()}
          data-reductions={JSON.stringify(
            reductions.map(({ percent, amountCents, code }) => ({ percent, amountCents, code })),
          )}
        >
          {money(amountCents, currency)}
        </output>{' '}
        <s hidden={reduction === null}>{money(listCents, currency)}</s>
      </p>
      {reductions.map((one) => (
        <p key={one.id} class="reduced" data-reduction hidden={one !== reduction}>
          {writtenReduction(one).reduction}
          <small>
            {' '}
            until <Time at={one.endsAt} />
            {isMonthly && '; months that begin later cost the list price'}
          </small>
        </p>
      ))}
      {reductions.map(({ code }) =>
        code === null ? null : (
          <p key={code} class="hint" data-unused hidden={reduction?.code === code}>
            The coupon {code} is not used, because your discount is better.
          </p>
        ),
      )}
    </div>
  );
}

/** What the form has for the price. Fields with faults count as 1. */
function chosenTerms({ values }: FormState) {
  const wallet = values.wallet === 'off_peak' ? ('off_peak' as const) : ('general' as const);
  const numberOf = (name: 'quantity' | 'months') => {
    const read = wholeNumber(MAX[name]).safeParse(values[name] ?? 1);
    return read.success ? read.data : 1;
  };
  return { wallet, quantity: numberOf('quantity'), months: numberOf('months') };
}

function Amounts({ kind, hasMonths }: { kind: Offer['kind']; hasMonths: boolean }): VNode {
  const shared = { type: 'number', preset: '1', min: 1, required: true } as const;
  const hint = kind === 'plan' ? 'Multiplies the limits of the plan.' : undefined;
  const quantity = ['quantity', 'Quantity', { ...shared, max: MAX.quantity, hint }] as const;
  const months = ['months', 'Months', { ...shared, max: MAX.months }] as const;
  return <Fields rows={hasMonths ? [quantity, months] : [quantity]} />;
}
