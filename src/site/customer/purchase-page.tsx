import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { createFirstKey, isKeyDue } from '../../accounts/first-key.ts';
import {
  cancelPurchase,
  findPurchase,
  grantPurchase,
  noteProviderRef,
  type Purchase,
} from '../../billing/payments/purchases.ts';
import { SoukError } from '../../platform/errors.ts';
import { Page } from '../kit/layout.tsx';
import { sendPage } from '../kit/render.tsx';
import { baseUrlOf, type Pages } from '../pages.ts';
import { customerOf } from '../session.ts';
import { FirstKey, ShowFirstKey } from './key-shown.tsx';
import { PurchaseFacts } from './purchase-facts.tsx';

const params = z.object({ orderId: z.uuid() });

/** Registers the page of one purchase. */
export function registerPurchasePage(scope: FastifyInstance, pages: Pages): void {
  const { database, clock } = pages;

  scope.get('/account/orders/:orderId', async (request, reply) =>
    sendPurchase(pages, reply, await ownPurchase(request)),
  );

  scope.post('/account/orders/:orderId/cancel', async (request, reply) => {
    const { id, accountId } = await ownPurchase(request);
    await cancelPurchase(database, id, clock.now(), accountId);
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
 * @returns the address of the next page, or the page that was sent. @throws PaymentUnavailable.
 */
export async function payPurchase(
  pages: Pages,
  reply: FastifyReply,
  purchase: Purchase,
): Promise<string | FastifyReply> {
  const { database, clock, payments } = pages;
  const { id, accountId } = purchase;
  const page = addressOfPurchase(id);
  // The form was sent again, for example by reloading the page.
  if (purchase.state !== 'pending') return page;
  const absolute = `${baseUrlOf(pages, reply.request)}${page}`;
  const step = await payments.begin(purchase, { paid: absolute, cancelled: absolute });
  if (step.kind === 'redirect') {
    await noteProviderRef(database, id, step.ref);
    return step.url;
  }
  if (step.kind === 'waiting') return page;
  const granted = (await grantPurchase(database, id, clock.now())) ?? purchase;
  return sendPurchase(pages, reply, granted, await createFirstKey(database, accountId, clock.now()));
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
    <Page title="Purchase" path="/account/plans">
      {/* Payment providers report payments within seconds; operators confirm them within hours. */}
      <div id="order" data-refresh={state === 'pending' ? '5' : undefined}>
        <h1>{state === 'granted' ? 'Purchase complete' : 'Your purchase'}</h1>
        {firstKey && <FirstKey apiKey={firstKey} baseUrl={baseUrlOf(pages, reply.request)} />}
        {isDue && (
          <section class="card">
            <h2>Your API key</h2>
            <p>Your key is created with the first purchase and shown only once.</p>
            <ShowFirstKey />
          </section>
        )}
        <PurchaseFacts purchase={purchase} />
      </div>
      <p class="row">
        <a class="button" href="/account">
          Go to the overview
        </a>
        <a class="button" href="/account/try">
          Try a call
        </a>
      </p>
    </Page>,
  );
}
