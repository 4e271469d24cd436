import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { findOffer, type PlanOffer } from '../../billing/payments/offers.ts';
import { PaymentUnavailable, type RenewalActions } from '../../billing/payments/payment-port.ts';
import { type RenewingPlan, renewingPlansOf } from '../../billing/renewals/renewing-plans.ts';
import { SoukError } from '../../platform/errors.ts';
import { Page } from '../kit/layout.tsx';
import { sendPage } from '../kit/render.tsx';
import { Table } from '../kit/table.tsx';
import { money, Time } from '../kit/words.tsx';
import { baseUrlOf, type Pages } from '../pages.ts';
import { customerOf } from '../session.ts';
import { countPaymentRequest } from './payment-requests.ts';

const PLANS = '/account/plans';

const params = z.object({ id: z.string().max(255) });
const chosen = z.object({ code: z.string().min(1).max(100) });

/** Registers the forms that change a renewing plan, the link to the customer portal, and the list of invoices. */
export function registerRenewals(scope: FastifyInstance, pages: Pages): void {
  const { database, payments } = pages;
  const { renewals } = payments;
  if (!renewals) return;

  scope.post(
    '/account/renewals/:id/cancel',
    act((plan) => renewals.setCancelled(plan, true)),
  );
  scope.post(
    '/account/renewals/:id/resume',
    act((plan) => renewals.setCancelled(plan, false)),
  );
  scope.post(
    '/account/renewals/:id/change',
    act(async (plan, request) => renewals.change(plan, await planIn(request))),
  );
  scope.post('/account/portal', async (request, reply) => {
    const { liveAccountId: accountId } = customerOf(request);
    await countPaymentRequest(pages, accountId);
    const returnTo = `${baseUrlOf(pages, request)}${PLANS}`;
    const address = await asked(() => renewals.portal(accountId, returnTo));
    return reply.redirect(address, 303);
  });
  scope.get('/account/invoices', async (request, reply) => {
    await countPaymentRequest(pages, customerOf(request).liveAccountId);
    return sendDocuments(renewals, request, reply);
  });

  function act(change: (plan: RenewingPlan, request: FastifyRequest) => Promise<void>) {
    return async (request: FastifyRequest, reply: FastifyReply) => {
      const plan = await ownPlan(request);
      await countPaymentRequest(pages, plan.accountId);
      await asked(() => change(plan, request));
      return reply.redirect(PLANS, 303);
    };
  }

  async function ownPlan(request: FastifyRequest): Promise<RenewingPlan> {
    const { id } = params.parse(request.params);
    const plans = await renewingPlansOf(database, customerOf(request).liveAccountId);
    const plan = plans.find((one) => one.id === id && one.state !== 'ended');
    if (!plan) throw new SoukError('NOT_FOUND', { message: 'This account has no such plan.' });
    return plan;
  }

  async function planIn(request: FastifyRequest): Promise<PlanOffer> {
    const parsed = chosen.safeParse(request.body);
    const offer = parsed.success ? await findOffer(database, 'plan', parsed.data.code) : null;
    if (offer?.kind !== 'plan' || !offer.renews || offer.priceCents === 0)
      throw new SoukError('NOT_FOUND', { message: 'This plan is not for sale as a plan that renews.' });
    return offer;
  }
}

/** Runs a request to the payment provider; its refusal is shown to the customer. */
function asked<T>(request: () => Promise<T>): Promise<T> {
  return request().catch((error: unknown) => {
    if (error instanceof PaymentUnavailable)
      throw new SoukError('BATCH_STATE', { message: `${error.message} Your plan has not changed.` });
    throw error;
  });
}

async function sendDocuments(
  renewals: RenewalActions,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<FastifyReply> {
  const documents = await asked(() => renewals.documents(customerOf(request).liveAccountId));
  return sendPage(
    reply,
    <Page title="Invoices and receipts" path={PLANS}>
      <h1>Invoices and receipts</h1>
      <Table
        name="Invoices and receipts"
        empty="No payments yet."
        rows={documents}
        columns={[
          ['Date', ({ at }) => <Time at={at} />],
          ['Document', ({ kind, url }) => <a href={url}>{kind === 'invoice' ? 'Invoice' : 'Receipt'}</a>],
          ['Amount', ({ amountCents, currency }) => money(amountCents, currency), 'number'],
          ['State', ({ state }) => state],
        ]}
      />
      <p>
        <a class="button" href={PLANS}>
          Back to the plans
        </a>
      </p>
    </Page>,
  );
}
