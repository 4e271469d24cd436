import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { VNode } from 'preact';
import { z } from 'zod';
import { addressFor } from '../../accounts/account-address.ts';
import { hasNoEffect, isUpgrade } from '../../billing/payments/change-renewal.ts';
import { findOffer, type PlanOffer } from '../../billing/payments/offers.ts';
import { PaymentUnavailable } from '../../billing/payments/payment-port.ts';
import { type RenewingPlan, renewingPlansOf } from '../../billing/payments/sync-renewal.ts';
import { SoukError } from '../../platform/errors.ts';
import { ButtonLink, Facts, Notice, ToneTag } from '../kit/elements.tsx';
import { PostButton } from '../kit/form.tsx';
import { Page } from '../kit/layout.tsx';
import { sendPage } from '../kit/render.tsx';
import { Table } from '../kit/table.tsx';
import { money, Time, WALLET_NAMES } from '../kit/words.tsx';
import { baseUrlOf, type Pages } from '../pages.ts';
import { customerOf } from '../session.ts';
import { countPaymentRequest } from './purchases.tsx';

const PLANS = '/account/plans';

const params = z.object({ id: z.string().max(255) });
const chosen = z.object({ code: z.string().min(1).max(100) });

/** Registers the forms that change a renewing plan, the link to the customer portal, and the list of invoices. */
export function registerRenewals(scope: FastifyInstance, pages: Pages): void {
  const { database, payments } = pages;
  const { renewals } = payments;
  if (!renewals) return;

  const acts: Record<string, (plan: RenewingPlan, request: FastifyRequest) => Promise<void>> = {
    cancel: (plan) => renewals.setCancelled(plan, true),
    resume: (plan) => renewals.setCancelled(plan, false),
    change: async (plan, request) => {
      const offer = await planIn(request);
      if (hasNoEffect(plan, offer))
        throw new SoukError('BATCH_STATE', {
          message: `Your plan ends at ${plan.periodEnd.toISOString()}, so it has no next month. Keep the plan first, then change to ${offer.name}.`,
        });
      return renewals.change(plan, offer);
    },
  };
  for (const [name, act] of Object.entries(acts))
    scope.post(`/account/renewals/:id/${name}`, async (request, reply) => {
      const plan = await ownPlan(request);
      await countPaymentRequest(pages, plan.accountId);
      await asked(() => act(plan, request));
      return reply.redirect(PLANS, 303);
    });
  scope.post('/account/portal', async (request, reply) => {
    const { liveAccountId: accountId } = customerOf(request);
    await countPaymentRequest(pages, accountId);
    const returnTo = `${baseUrlOf(pages, request)}${addressFor(accountId, PLANS)}`;
    const address = await asked(() => renewals.portal(accountId, returnTo));
    return reply.redirect(address, 303);
  });
  scope.get('/account/invoices', async (request, reply) => {
    const { liveAccountId: accountId } = customerOf(request);
    await countPaymentRequest(pages, accountId);
    const documents = await asked(() => renewals.documents(accountId));
    return sendPage(
      reply,
      <Page title="Invoices and receipts" path={PLANS}>
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
          <ButtonLink to={PLANS}>Back to the plans</ButtonLink>
        </p>
      </Page>,
    );
  });

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
      throw new SoukError('NOT_FOUND', {
        message: 'This plan cannot be bought as a renewing plan. Choose another plan.',
      });
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

const STATES = {
  active: ['good', 'Active'],
  past_due: ['bad', 'Payment failed'],
  cancelling: ['warn', 'Cancelled'],
  ended: ['', 'Ended'],
} as const;

export function RenewalTag({ plan: { state } }: { plan: RenewingPlan }): VNode {
  return <ToneTag of={STATES[state]} />;
}

/** The renewing plans of an account, with what their customer can do. */
export function RenewalCards(props: {
  plans: readonly RenewingPlan[];
  /** Plans for sale. */
  offers: readonly PlanOffer[];
}): VNode | null {
  const { offers } = props;
  const plans = props.plans.filter(({ state }) => state !== 'ended');
  return (
    <>
      {plans.map((plan) => (
        <section key={plan.id} class="card" aria-label={`Your plan ${plan.planName}`}>
          <h2>Your plan: {plan.planName}</h2>
          {plan.state === 'past_due' && (
            <Notice tone="bad">
              The last payment failed. Change your card before <Time at={plan.graceUntil} />; after that the
              plan ends.
            </Notice>
          )}
          <RenewalFacts plan={plan} />
          <Actions plan={plan} />
          {plan.state !== 'past_due' && <Changes plan={plan} offers={offers} />}
        </section>
      ))}
    </>
  );
}

function RenewalFacts({ plan }: { plan: RenewingPlan }): VNode {
  const { state, wallet, quantity, amountCents, currency, periodEnd, nextPlanName, reduction } = plan;
  const renews = state === 'active' || state === 'past_due';
  return (
    <Facts
      facts={[
        ['State', <RenewalTag plan={plan} />],
        ['Wallet', `${WALLET_NAMES[wallet]}${quantity > 1 ? `, × ${quantity}` : ''}`],
        [renews ? 'Renews at' : 'Ends at', <Time at={periodEnd} />],
        renews && ['Next payment', money(amountCents, currency)],
        renews &&
          reduction !== null && [
            'Reduced',
            <>
              {reduction}, for months that begin before <Time at={plan.reducedUntil} />
            </>,
          ],
        nextPlanName !== null && ['Next month', nextPlanName],
      ]}
    />
  );
}

function Actions({ plan: { id, state } }: { plan: RenewingPlan }): VNode {
  return (
    <div class="row">
      <PostButton action="/account/portal">Change card</PostButton>
      <ButtonLink to="/account/invoices">Invoices and receipts</ButtonLink>
      {state === 'cancelling' ? (
        <PostButton action={`/account/renewals/${id}/resume`} class="primary">
          Keep the plan
        </PostButton>
      ) : (
        <PostButton
          action={`/account/renewals/${id}/cancel`}
          confirm="Cancel the plan? It continues until the end of the month that you have paid for."
          class="danger"
        >
          Cancel the plan
        </PostButton>
      )}
    </div>
  );
}

function Changes({ plan, offers }: { plan: RenewingPlan; offers: readonly PlanOffer[] }): VNode | null {
  const others = offers.filter(
    (offer) =>
      offer.renews &&
      offer.priceCents > 0 &&
      (offer.id !== plan.planId || plan.nextPlanName !== null) &&
      !hasNoEffect(plan, offer),
  );
  if (others.length === 0) return null;
  return (
    <>
      <h3>Change the plan</h3>
      <p class="hint">
        A more expensive plan starts a new month immediately. You pay its price minus the price of the days
        that are left in your present month. If you have used a larger share of the units than of the days,
        the difference counts against the new month. Unused units of the present month end. A cheaper plan
        starts with the next month. Another plan has its present price and your best discount; a coupon of the
        present plan ends with it.
      </p>
      <div class="row">
        {others.map((offer) => (
          <PostButton
            key={offer.code}
            action={`/account/renewals/${plan.id}/change`}
            fields={{ code: offer.code }}
            confirm={
              isUpgrade(plan, offer)
                ? `Change to ${offer.name} now? You are charged immediately.`
                : `Change to ${offer.name} with the next month?`
            }
          >
            {offer.id === plan.planId ? `Stay with ${offer.name}` : `Change to ${offer.name}`}
          </PostButton>
        ))}
      </div>
    </>
  );
}
