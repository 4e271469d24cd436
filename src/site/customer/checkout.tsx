import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { z } from 'zod';
import { nextSubscriptionStart, subscriptionTimes } from '../../billing/grants.ts';
import { findOffer, type Offer } from '../../billing/payments/offers.ts';
import { PaymentUnavailable } from '../../billing/payments/payment-port.ts';
import { PurchaseRefused } from '../../billing/payments/purchase-refusals.ts';
import { createPurchase } from '../../billing/payments/purchases.ts';
import { trialRefusal } from '../../billing/payments/trials.ts';
import { SoukError } from '../../platform/errors.ts';
import {
  FormRefused,
  type FormState,
  type FormValues,
  NO_INPUT,
  onSubmit,
  readValues,
} from '../kit/form-request.ts';
import { Page } from '../kit/layout.tsx';
import { sendPage } from '../kit/render.tsx';
import type { Pages } from '../pages.ts';
import { customerOf } from '../session.ts';
import { Checkout, checkoutSchema } from './checkout-form.tsx';
import { countPaymentRequest } from './payment-requests.ts';
import { PlanTimesNotice } from './plan-times.tsx';
import { payPurchase } from './purchase-page.tsx';

/** Registers the checkout of a plan or a pack: the form with its price, and the payment. */
export function registerCheckout(scope: FastifyInstance, pages: Pages): void {
  scope.get('/account/checkout', async (request, reply) => {
    const offer = await offerIn(pages, request.query);
    if (!offer) return reply.redirect('/account/plans', 303);
    return sendForm(pages, reply, offer, NO_INPUT);
  });
  scope.post('/account/checkout', onSubmit(checkoutSchema, showForm, buy));

  async function showForm(reply: FastifyReply, form: FormState, status?: number): Promise<FastifyReply> {
    return sendForm(pages, reply, await offerOnSale(pages, form.values), form, status);
  }

  async function buy(
    { priceCents, kind, code, orderId, ...chosen }: z.output<typeof checkoutSchema>,
    request: FastifyRequest,
    reply: FastifyReply,
  ): Promise<string | FastifyReply> {
    const { database, clock, payments, currency, log, trials } = pages;
    const offer = await offerOnSale(pages, { kind, code });
    if (priceCents !== undefined && priceCents !== String(offer.priceCents))
      throw new FormRefused(409, {
        '': 'The price has changed since this page was loaded. Check the new price and send the form again.',
      });
    const { liveAccountId: accountId } = customerOf(request);
    await countPaymentRequest(pages, accountId);
    const refusal = offer.priceCents === 0 ? await trialRefusal(database, trials, accountId) : null;
    if (refusal !== null) throw new FormRefused(403, { '': refusal });
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
      if (error instanceof PurchaseRefused) throw new FormRefused(409, { '': error.message });
      if (!(error instanceof PaymentUnavailable)) throw error;
      log.warn({ err: error }, 'failed to start a payment');
      throw new FormRefused(502, { '': `${error.message} Nothing was bought.` });
    }
  }
}

async function offerIn({ database }: Pages, asked: unknown): Promise<Offer | null> {
  const { kind, code = '' } = readValues(asked);
  if ((kind !== 'plan' && kind !== 'pack') || !/^[\x20-\x7e]{1,100}$/.test(code)) return null;
  return findOffer(database, kind, code);
}

async function offerOnSale(pages: Pages, asked: FormValues): Promise<Offer> {
  const offer = await offerIn(pages, asked);
  if (!offer) throw new SoukError('NOT_FOUND', { message: 'This offer is no longer for sale.' });
  return offer;
}

async function sendForm(
  { database, clock, payments, currency, offPeak }: Pages,
  reply: FastifyReply,
  offer: Offer,
  form: FormState,
  status?: number,
): Promise<FastifyReply> {
  const { liveAccountId: accountId } = customerOf(reply.request);
  const wallet = form.values.wallet === 'off_peak' ? 'off_peak' : 'general';
  const now = clock.now();
  const isPaid = offer.priceCents > 0;
  const renews = isPaid && offer.kind === 'plan' && offer.renews && payments.name === 'stripe';
  const [startsAt, plans] = await Promise.all([
    nextSubscriptionStart(database, { accountId, wallet, isPaid }, now),
    subscriptionTimes(database, accountId, now),
  ]);
  return sendPage(
    reply,
    <Page title={`Buy ${offer.name}`} path="/account/plans" scripts={['checkout.js']}>
      <h1>Buy {offer.name}</h1>
      <Checkout {...{ offer, form, currency, offPeak }} provider={payments.name} />
      {offer.kind === 'plan' && (
        <PlanTimesNotice
          {...{ startsAt, renews, now }}
          plans={plans.filter((plan) => plan.wallet === wallet)}
        />
      )}
    </Page>,
    status,
  );
}
