import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { type AccountState, setAccountState } from '../../accounts/accounts.ts';
import { createPasswordReset, resetPath } from '../../accounts/password-resets.ts';
import { beginSession, endOtherSessions } from '../../accounts/sessions.ts';
import { findPlan, GrantRefused } from '../../billing/grants.ts';
import { givePack, giveSubscription, packGift, subscriptionGift } from '../../operator/grant-to-account.ts';
import { type Form, readForm } from '../kit/form.tsx';
import { Secret } from '../kit/secret.tsx';
import { baseUrlOf, type Pages } from '../pages.ts';
import { keepToken } from '../session.ts';
import { accountIn, sendAccountPage } from './account-page.tsx';

/** What the operator does to an account. */
export function registerAccountActions(scope: FastifyInstance, pages: Pages): void {
  const { database, clock } = pages.gateway;

  const setState = (state: AccountState) => async (request: FastifyRequest, reply: FastifyReply) => {
    const { id } = await accountIn(pages, request);
    await setAccountState(database, id, state);
    if (state !== 'active') await endOtherSessions(database, id, null);
    return reply.redirect(`/admin/accounts/${id}`, 303);
  };
  scope.post('/admin/accounts/:id/disable', setState('disabled'));
  scope.post('/admin/accounts/:id/enable', setState('active'));

  scope.post('/admin/accounts/:id/view', async (request, reply) => {
    const { id } = await accountIn(pages, request);
    const token = await beginSession(database, { accountId: id, isOperator: true }, clock.now());
    keepToken(reply, pages, 'customer', token);
    return reply.redirect('/account', 303);
  });

  scope.post('/admin/accounts/:id/password', async (request, reply) => {
    const account = await accountIn(pages, request);
    const token = await createPasswordReset(database, account.id, clock.now());
    const link = `${baseUrlOf(pages, request)}${resetPath(token)}`;
    return sendAccountPage(pages, request, reply, account, {
      shown: (
        <section class="notice good">
          <h2>A link to a new password</h2>
          <Secret id="reset-link" text={link} />
          <p>
            Send it to {account.email} alone: it is shown this once, works once, and for a day. The links of
            before are worth nothing any more.
          </p>
        </section>
      ),
    });
  });

  scope.post('/admin/accounts/:id/subscription', async (request, reply) => {
    // A field that was left empty was not given.
    const { starts, ...rest } = request.body as Record<string, unknown>;
    const form = readForm(subscriptionGift, starts === '' ? rest : { ...rest, starts });
    return give(request, reply, 'subscription', form, async (accountId, gift) => {
      const plan = await findPlan(database, gift.plan);
      if (!plan) throw new GrantRefused('There is no such plan any more.');
      await giveSubscription(database, { accountId, planId: plan.id }, gift, clock.now());
    });
  });

  scope.post('/admin/accounts/:id/pack', async (request, reply) =>
    give(request, reply, 'pack', readForm(packGift, request.body), async (accountId, gift) => {
      await givePack(database, accountId, gift, clock.now());
    }),
  );

  async function give<Gift>(
    request: FastifyRequest,
    reply: FastifyReply,
    kind: 'subscription' | 'pack',
    form: Form<Gift>,
    grant: (accountId: number, gift: Gift) => Promise<void>,
  ): Promise<FastifyReply> {
    const account = await accountIn(pages, request);
    const { values } = form;
    if (!form.ok) {
      const refused = { form: kind, values, faults: form.faults };
      return sendAccountPage(pages, request, reply, account, { refused, status: 400 });
    }
    try {
      await grant(account.id, form.input);
    } catch (error) {
      if (!(error instanceof GrantRefused)) throw error;
      const refused = { form: kind, values, faults: { '': error.message } };
      return sendAccountPage(pages, request, reply, account, { refused, status: 409 });
    }
    return reply.redirect(`/admin/accounts/${account.id}`, 303);
  }
}
