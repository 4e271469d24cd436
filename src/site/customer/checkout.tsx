import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { v7 as uuid } from 'uuid';
import { z } from 'zod';
import { createFirstKey, isKeyDue } from '../../accounts/first-key.ts';
import { nextSubscriptionStart } from '../../billing/grants.ts';
import { amountOf, findOffer, type Offer } from '../../billing/payments/offers.ts';
import {
  cancelOrder,
  createOrder,
  findOrder,
  grantOrder,
  noteProviderRef,
  type Order,
  PurchaseRefused,
} from '../../billing/payments/orders.ts';
import { PaymentUnavailable } from '../../billing/payments/payment-port.ts';
import { SoukError } from '../../platform/errors.ts';
import { type FormFaults, type FormValues, PostForm, readForm } from '../kit/form.tsx';
import { Page } from '../kit/layout.tsx';
import { sendPage } from '../kit/render.ts';
import { Time } from '../kit/words.tsx';
import { baseUrlOf, type Pages } from '../pages.ts';
import { customerOf, viewerOf } from '../session.ts';
import { CheckoutForm } from './checkout-form.tsx';
import { FirstKey } from './key-shown.tsx';
import { OrderFacts } from './order-facts.tsx';

const wholeNumber = (most: number) =>
  z.coerce
    .number({ error: `must be a whole number from 1 to ${most}` })
    .int(`must be a whole number from 1 to ${most}`)
    .min(1, `must be a whole number from 1 to ${most}`)
    .max(most, `must be a whole number from 1 to ${most}`);

const checkout = z.object({
  orderId: z.uuid('is missing'),
  kind: z.enum(['plan', 'pack']),
  code: z.string().min(1).max(100),
  /** Of the offer, as the form showed it, in cents. */
  priceCents: z.string().optional(),
  wallet: z.enum(['general', 'off_peak'], 'must be general or off_peak').default('general'),
  quantity: wholeNumber(100).default(1),
  months: wholeNumber(12).default(1),
});

const chosen = z.object({ kind: z.enum(['plan', 'pack']), code: z.string().regex(/^[\x20-\x7e]{1,100}$/) });

const orderParams = z.object({ orderId: z.uuid() });

/** Buying: what it will cost, the payment, and what came of it. */
export function registerCheckout(scope: FastifyInstance, pages: Pages): void {
  const { gateway, payments, currency } = pages;
  const { database, clock } = gateway;

  scope.get('/account/checkout', async (request, reply) => {
    const query = chosen.safeParse(request.query);
    const offer = query.success ? await findOffer(database, query.data.kind, query.data.code) : null;
    if (!offer) return reply.redirect('/account/plans', 303);
    return sendForm(request, reply, offer, {}, {});
  });

  scope.post('/account/checkout', async (request, reply) => {
    const { accountId } = customerOf(request);
    const form = readForm(checkout, request.body);
    const { kind, code } = form.values;
    const offer =
      kind === 'plan' || kind === 'pack' ? await findOffer(database, kind, String(code).slice(0, 100)) : null;
    if (!offer) throw new SoukError('NOT_FOUND', { message: 'This is not for sale any more.' });
    if (!form.ok) return sendForm(request, reply, offer, form.values, form.faults, 400);
    try {
      const { orderId, wallet, quantity, months, priceCents } = form.input;
      if (priceCents !== undefined && priceCents !== String(offer.priceCents))
        throw new PurchaseRefused('The price has changed since this page was shown. Look at it again.');
      const purchase = {
        orderId,
        accountId,
        offer,
        wallet,
        quantity,
        months,
        currency,
        provider: payments.name,
      };
      const order = await createOrder(database, purchase, clock.now());
      return await pay(request, reply, order);
    } catch (error) {
      if (error instanceof PurchaseRefused)
        return sendForm(request, reply, offer, form.values, { '': error.message }, 409);
      if (error instanceof PaymentUnavailable) {
        gateway.log.warn({ err: error }, 'a payment could not be begun');
        return sendForm(
          request,
          reply,
          offer,
          form.values,
          { '': `${error.message} Nothing was bought.` },
          502,
        );
      }
      throw error;
    }
  });

  scope.get('/account/orders/:orderId', async (request, reply) => {
    return sendOrder(request, reply, await ownOrder(request));
  });

  scope.post('/account/orders/:orderId/cancel', async (request, reply) => {
    const order = await ownOrder(request);
    await cancelOrder(database, order.id, clock.now(), order.accountId);
    return reply.redirect(`/account/orders/${order.id}`, 303);
  });

  async function pay(request: FastifyRequest, reply: FastifyReply, order: Order): Promise<FastifyReply> {
    const page = `${baseUrlOf(pages, request)}/account/orders/${order.id}`;
    // Sent again, as by reloading the page: it is told what came of it.
    if (order.state !== 'pending') return reply.redirect(`/account/orders/${order.id}`, 303);
    const step = await payments.begin(order, { paid: page, cancelled: page });
    if (step.kind === 'redirect') {
      await noteProviderRef(database, order.id, step.ref);
      return reply.redirect(step.url, 303);
    }
    if (step.kind === 'waiting') return reply.redirect(`/account/orders/${order.id}`, 303);
    const granted = (await grantOrder(database, order.id, clock.now())) ?? order;
    return sendOrder(request, reply, granted, await createFirstKey(database, order.accountId, clock.now()));
  }

  async function ownOrder(request: FastifyRequest): Promise<Order> {
    const params = orderParams.safeParse(request.params);
    const order = params.success ? await findOrder(database, params.data.orderId) : null;
    if (order?.accountId !== customerOf(request).accountId || !order)
      throw new SoukError('NOT_FOUND', { message: 'This account has no such order.' });
    return order;
  }

  async function sendForm(
    request: FastifyRequest,
    reply: FastifyReply,
    offer: Offer,
    values: FormValues,
    faults: FormFaults,
    status = 200,
  ): Promise<FastifyReply> {
    const { accountId } = customerOf(request);
    const wallet = values.wallet === 'off_peak' ? 'off_peak' : 'general';
    const startsAt = await nextSubscriptionStart(database, accountId, wallet, clock.now());
    const begins = startsAt.getTime() > clock.now() ? startsAt : null;
    return sendPage(
      reply,
      <Page
        title={`Buy ${offer.name}`}
        viewer={viewerOf(request, reply)}
        path="/account/plans"
        scripts={['checkout.js']}
      >
        <h1>Buy {offer.name}</h1>
        <CheckoutForm
          offer={offer}
          csrf={reply.generateCsrf()}
          orderId={uuid()}
          values={values}
          faults={faults}
          currency={currency}
          provider={payments.name}
          amountCents={amountOf(offer, { wallet, quantity: 1, months: 1 })}
          offPeak={gateway.offPeak}
        />
        {offer.kind === 'plan' && begins && (
          <div class="notice warn">
            <p>
              You have a plan until <Time at={begins} />. A wallet has one plan at a time, so this one begins
              then. For more units before that, buy a pack.
            </p>
          </div>
        )}
      </Page>,
      status,
    );
  }

  async function sendOrder(
    request: FastifyRequest,
    reply: FastifyReply,
    order: Order,
    firstKey: string | null = null,
  ): Promise<FastifyReply> {
    const viewer = viewerOf(request, reply);
    const csrf = reply.generateCsrf();
    const due = firstKey === null && order.state === 'granted' && (await isKeyDue(database, order.accountId));
    const isOpen = order.state === 'pending';
    return sendPage(
      reply,
      <Page title="Order" viewer={viewer} path="/account/plans">
        {/* Payments are told within seconds, and confirmed by people within hours. */}
        <div id="order" data-refresh={isOpen ? '5' : undefined}>
          <h1>{order.state === 'granted' ? 'It is yours' : 'Your order'}</h1>
          {firstKey && <FirstKey apiKey={firstKey} baseUrl={baseUrlOf(pages, request)} />}
          {due && (
            <section class="card">
              <h2>Your API key</h2>
              <p>It is made with the first purchase, and shown once.</p>
              <PostForm action="/account/keys/first" csrf={csrf}>
                <button type="submit" class="primary">
                  Show my API key
                </button>
              </PostForm>
            </section>
          )}
          <OrderFacts order={order} csrf={csrf} />
        </div>
        <p class="row">
          <a class="button" href="/account">
            To the overview
          </a>
          <a class="button" href="/account/try">
            Try a call
          </a>
        </p>
      </Page>,
    );
  }
}
