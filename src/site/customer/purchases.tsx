import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { VNode } from 'preact';
import { z } from 'zod';
import { addressFor } from '../../accounts/account-address.ts';
import { createFirstKey, isKeyDue } from '../../accounts/account-keys.ts';
import {
  cancelPurchase,
  findPurchase,
  grantPurchase,
  type Purchase,
} from '../../billing/payments/purchases.ts';
import { SoukError } from '../../platform/errors.ts';
import { ButtonLink, Card, Facts, ToneTag } from '../kit/elements.tsx';
import { PostButton } from '../kit/form.tsx';
import { Page } from '../kit/layout.tsx';
import { sendPage } from '../kit/render.tsx';
import { money, Time, WALLET_NAMES } from '../kit/words.tsx';
import { noteActs } from '../page-acts.ts';
import { baseUrlOf, type Pages } from '../pages.ts';
import { customerOf } from '../session.ts';
import { FirstKey, firstKeyActs, ShowFirstKey } from './first-key.tsx';

const params = z.object({ orderId: z.uuid() });

export function registerPurchasePage(scope: FastifyInstance, pages: Pages): void {
  const { database, clock } = pages;

  scope.get('/account/orders/:orderId', async (request, reply) =>
    sendPurchase(pages, reply, await ownPurchase(request)),
  );

  scope.post('/account/orders/:orderId/cancel', async (request, reply) => {
    const { id, accountId } = await ownPurchase(request);
    const cancelled = await cancelPurchase(database, id, clock.now(), accountId);
    // It had been paid or cancelled before.
    if (!cancelled) noteActs(request);
    return reply.redirect(addressOfPurchase(id), 303);
  });

  async function ownPurchase(request: FastifyRequest): Promise<Purchase> {
    const parsed = params.safeParse(request.params);
    const purchase = parsed.success ? await findPurchase(database, parsed.data.orderId) : null;
    if (purchase?.accountId !== customerOf(request).liveAccountId || !purchase)
      throw new SoukError('NOT_FOUND', { message: 'This account has no such purchase.' });
    return purchase;
  }
}

/**
 * Starts the payment of a purchase. A purchase that is granted immediately is shown with the account's first key.
 * @returns the address of the next page, or the page that was sent. @throws PaymentUnavailable. @throws PurchaseRefused.
 */
export async function payPurchase(
  pages: Pages,
  reply: FastifyReply,
  purchase: Purchase,
): Promise<string | FastifyReply> {
  const { database, clock, payments } = pages;
  const { id, accountId } = purchase;
  const page = addressOfPurchase(id);
  if (purchase.state !== 'pending') {
    // The form was sent again, for example by reloading the page.
    noteActs(reply.request);
    return page;
  }
  const begun = { action: 'purchase.begun', target: id } as const;
  noteActs(reply.request, begun);
  const absolute = `${baseUrlOf(pages, reply.request)}${addressFor(accountId, page)}`;
  const step = await payments
    .begin(purchase, { paid: absolute, cancelled: absolute })
    .catch(async (error) => {
      // It has no payment that could arrive, so its coupon can be used again.
      await cancelPurchase(database, id, clock.now(), accountId);
      throw error;
    });
  if (step.kind === 'redirect') return step.url;
  if (step.kind === 'waiting') return page;
  const granted = (await grantPurchase(database, id, clock.now())) ?? purchase;
  const { personId } = customerOf(reply.request);
  const firstKey = await createFirstKey(database, accountId, clock.now(), personId);
  noteActs(reply.request, begun, ...firstKeyActs(firstKey));
  return sendPurchase(pages, reply, granted, firstKey);
}

function addressOfPurchase(id: string): string {
  return `/account/orders/${id}`;
}

async function sendPurchase(
  pages: Pages,
  reply: FastifyReply,
  purchase: Purchase,
  firstKey: string | null = null,
): Promise<FastifyReply> {
  const { state, accountId } = purchase;
  const isDue = firstKey === null && state === 'granted' && (await isKeyDue(pages.database, accountId));
  return sendPage(
    reply,
    <Page title="Purchase" heading={null} path="/account/plans">
      {/* Payment providers report payments within seconds; operators confirm them within hours. */}
      <div id="order" data-refresh={state === 'pending' ? '5' : undefined}>
        <h1>{state === 'granted' ? 'Purchase complete' : 'Your purchase'}</h1>
        {firstKey && <FirstKey apiKey={firstKey} baseUrl={baseUrlOf(pages, reply.request)} />}
        {isDue && (
          <Card title="Your API key">
            <p>Your key is created with the first purchase and shown only once.</p>
            <ShowFirstKey />
          </Card>
        )}
        <PurchaseFacts purchase={purchase} />
      </div>
      <p class="row">
        <ButtonLink to="/account">Go to the overview</ButtonLink>
        <ButtonLink to="/account/try">Try a call</ButtonLink>
      </p>
    </Page>,
  );
}

const STATES = {
  pending: ['warn', 'Payment pending'],
  granted: ['good', 'Granted'],
  cancelled: ['', 'Cancelled'],
} as const;

export function PurchaseTag({ purchase: { state } }: { purchase: Purchase }): VNode {
  return <ToneTag of={STATES[state]} />;
}

/** "Pro × 2, 3 months". */
export function purchaseText({ offerName, quantity, months }: Purchase): string {
  const times = quantity > 1 ? ` × ${quantity}` : '';
  return `${offerName}${times}${months === null ? '' : `, ${months} ${months === 1 ? 'month' : 'months'}`}`;
}

/** What is paid, and the list price if it was reduced. */
export function PaidAmount({ purchase }: { purchase: Purchase }): VNode {
  const { amountCents, listCents, reduction, currency } = purchase;
  if (reduction === null) return <>{money(amountCents, currency)}</>;
  return (
    <>
      {money(amountCents, currency)}{' '}
      <small class="block">
        {reduction}, list price {money(listCents, currency)}
      </small>
    </>
  );
}

/** The details of a purchase. While it is pending: how to pay it, and a button that cancels it. */
function PurchaseFacts({ purchase }: { purchase: Purchase }): VNode {
  const { id, amountCents, listCents, currency, wallet, createdAt, state, provider } = purchase;
  return (
    <Card>
      <h2>{purchaseText(purchase)}</h2>
      <Facts
        facts={[
          ['State', <PurchaseTag purchase={purchase} />],
          purchase.reduction !== null && ['List price', money(listCents, currency)],
          purchase.reduction !== null && ['Reduction', purchase.reduction],
          ['Amount', money(amountCents, currency)],
          purchase.renews &&
            purchase.reducedUntil !== null && [
              'Later months',
              <>
                {money(amountCents, currency)} if they begin before <Time at={purchase.reducedUntil} />, then{' '}
                {money(listCents, currency)}
              </>,
            ],
          ['Wallet', WALLET_NAMES[wallet]],
          ['Created', <Time at={createdAt} />],
          ['Purchase id', <code>{id}</code>],
        ]}
      />
      {state === 'pending' && (
        <>
          <p>
            {provider === 'manual'
              ? 'Pay as agreed with the operator and state the purchase id. Your units become available when the operator confirms the payment.'
              : 'The payment has not been confirmed yet. This page updates when the confirmation arrives.'}
          </p>
          <PostButton action={`/account/orders/${id}/cancel`} confirm="Cancel this purchase?" class="danger">
            Cancel the purchase
          </PostButton>
        </>
      )}
    </Card>
  );
}

/**
 * Counts a request that asks the payment provider, whose API limits all customers together.
 * @throws SoukError TOO_MANY_ATTEMPTS.
 */
export async function countPaymentRequest({ attempts }: Pages, accountId: number): Promise<void> {
  const waitSeconds = await attempts.countPayment(accountId);
  if (waitSeconds === null) return;
  const minutes = Math.ceil(waitSeconds / 60);
  throw new SoukError('TOO_MANY_ATTEMPTS', {
    message: `Too many requests about payments. Try again in ${minutes} ${minutes === 1 ? 'minute' : 'minutes'}.`,
    retryAfterSeconds: waitSeconds,
  });
}
