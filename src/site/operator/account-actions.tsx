import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { type AccountState, confirmEmail, setAccountState } from '../../accounts/accounts.ts';
import { createPasswordReset, resetPath } from '../../accounts/password-resets.ts';
import { beginSession, endOtherSessions } from '../../accounts/sessions.ts';
import { findPlan, GrantRefused } from '../../billing/grants.ts';
import {
  grantPlanTo,
  grantUnitsTo,
  packFields,
  subscriptionFields,
} from '../../operator/grant-to-account.ts';
import { FormRefused, type FormState, onSubmit, readForm } from '../kit/form-request.ts';
import { Secret } from '../kit/secret.tsx';
import { baseUrlOf, type Pages } from '../pages.ts';
import { setSessionCookie } from '../session.ts';
import { accountIn, sendAccountPage } from './account-page.tsx';

/** Registers the operator's actions on an account. */
export function registerAccountActions(scope: FastifyInstance, pages: Pages): void {
  const { database, clock } = pages;
  const path = '/admin/accounts/:id';

  scope.post(`${path}/disable`, (request, reply) => setState(request, reply, 'disabled'));
  scope.post(`${path}/enable`, (request, reply) => setState(request, reply, 'active'));
  scope.post(`${path}/confirm-email`, async (request, reply) => {
    const { id } = await accountIn(pages, request);
    await confirmEmail(database, id, clock.now());
    return reply.redirect(`/admin/accounts/${id}`, 303);
  });
  scope.post(`${path}/view`, viewAsCustomer);
  scope.post(`${path}/password`, createResetLink);
  registerGrants(scope, pages);

  async function setState(request: FastifyRequest, reply: FastifyReply, state: AccountState) {
    const { id } = await accountIn(pages, request);
    await setAccountState(database, id, state);
    if (state !== 'active') await endOtherSessions(database, id, null);
    return reply.redirect(`/admin/accounts/${id}`, 303);
  }

  async function viewAsCustomer(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
    const { id } = await accountIn(pages, request);
    if (request.session?.kind !== 'operator') throw new Error('a page for operators without an operator');
    const { credential } = request.session;
    const token = await beginSession(database, { accountId: id, credential }, clock.now());
    setSessionCookie(reply, 'customer', token);
    return reply.redirect('/account', 303);
  }

  async function createResetLink(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
    const account = await accountIn(pages, request);
    const token = await createPasswordReset(database, account.id, clock.now());
    const shown = (
      <section class="notice good">
        <h2>Password reset link</h2>
        <Secret id="reset-link" text={`${baseUrlOf(pages, request)}${resetPath(token)}`} />
        <p>
          Send it only to {account.email}. The link is shown only once. It can be used once and is valid for
          one day. Earlier links are no longer valid.
        </p>
      </section>
    );
    return sendAccountPage(pages, reply, account, { shown });
  }
}

/** Registers the forms that grant units to an account without a purchase. */
function registerGrants(scope: FastifyInstance, pages: Pages): void {
  const { database, clock } = pages;

  scope.post(
    '/admin/accounts/:id/subscription',
    onSubmit(readSubscription, showAgain('subscription'), async (fields, request) =>
      grant(request, async (accountId) => {
        const plan = await findPlan(database, fields.plan);
        if (!plan) throw new GrantRefused('This plan no longer exists. Reload the page and choose another.');
        await grantPlanTo(database, { accountId, planId: plan.id }, fields, clock.now());
      }),
    ),
  );

  scope.post(
    '/admin/accounts/:id/pack',
    onSubmit(packFields, showAgain('pack'), async (fields, request) =>
      grant(request, async (accountId) => {
        await grantUnitsTo(database, accountId, fields, clock.now());
      }),
    ),
  );

  async function grant(request: FastifyRequest, give: (accountId: number) => Promise<void>): Promise<string> {
    const { id } = await accountIn(pages, request);
    try {
      await give(id);
    } catch (error) {
      if (error instanceof GrantRefused) throw new FormRefused(409, { '': error.message });
      throw error;
    }
    return `/admin/accounts/${id}`;
  }

  function showAgain(kind: 'subscription' | 'pack') {
    return async (reply: FastifyReply, form: FormState, status = 200): Promise<FastifyReply> => {
      const account = await accountIn(pages, reply.request);
      return sendAccountPage(pages, reply, account, { refused: { kind, form }, status });
    };
  }
}

/** Browsers send an empty string for an empty start. */
function readSubscription(body: unknown) {
  const { starts, ...rest } = body as Record<string, unknown>;
  return readForm(subscriptionFields, starts === '' ? rest : { ...rest, starts });
}
