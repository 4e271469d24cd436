import { Readable } from 'node:stream';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { resetPath } from '../../accounts/passwords.ts';
import { findPlan, GrantRefused } from '../../billing/grants.ts';
import { accountActs, personalDataActs } from '../../operator/acts/account-acts.ts';
import { grantActs, packFields, subscriptionFields } from '../../operator/acts/sale-acts.ts';
import type { Operating } from '../../operator/audit.ts';
import { ErasureRefused } from '../../operator/personal-data/erasure.ts';
import { SoukError } from '../../platform/errors.ts';
import { sendExport } from '../customer/own-data.tsx';
import { Secret } from '../kit/elements.tsx';
import { FormRefused, type FormState, onSubmit, readForm } from '../kit/form-request.ts';
import { baseUrlOf, operatingOf, type Pages } from '../pages.ts';
import { accountIn, sendAccountPage } from './account-page.tsx';

/** Registers the operator's actions on an account. */
export function registerAccountActions(scope: FastifyInstance, pages: Pages): void {
  const path = '/admin/accounts/:id';

  scope.post(`${path}/disable`, (request, reply) => setState(request, reply, 'disabled'));
  scope.post(`${path}/enable`, (request, reply) => setState(request, reply, 'active'));
  scope.post(`${path}/confirm-email`, async (request, reply) => {
    const { id } = await accountIn(pages, request);
    await accountActs.confirmEmail(operatingOf(pages, request), id);
    return reply.redirect(`/admin/accounts/${id}`, 303);
  });
  scope.post(`${path}/password`, createResetLink);

  async function setState(request: FastifyRequest, reply: FastifyReply, state: 'active' | 'disabled') {
    const { id } = await accountIn(pages, request);
    await accountActs.setState(operatingOf(pages, request), id, state).catch(refuseErased);
    return reply.redirect(`/admin/accounts/${id}`, 303);
  }

  async function createResetLink(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
    const account = await accountIn(pages, request);
    const token = await accountActs.createReset(operatingOf(pages, request), account.id);
    if (token === null) throw new SoukError('NOT_FOUND', { message: 'This account has no owner.' });
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

/** Registers the export and the erasure of the data of an account. */
export function registerOwnership(scope: FastifyInstance, pages: Pages): void {
  const path = '/admin/accounts/:id';
  scope.post(`${path}/export`, async (request, reply) => {
    const { id } = await accountIn(pages, request);
    const pieces = await personalDataActs.export(operatingOf(pages, request), id);
    return sendExport(reply, Readable.from(pieces), `account-${id}`);
  });
  scope.post(`${path}/erase`, async (request, reply) => {
    const { id } = await accountIn(pages, request);
    await personalDataActs.requestErasure(operatingOf(pages, request), id).catch(refuseErased);
    return reply.redirect(`/admin/accounts/${id}`, 303);
  });
  scope.post(`${path}/keep`, async (request, reply) => {
    const { id } = await accountIn(pages, request);
    await personalDataActs.cancelErasure(operatingOf(pages, request), id);
    return reply.redirect(`/admin/accounts/${id}`, 303);
  });
}

/** Registers the forms that grant units to an account without a purchase. */
export function registerGrants(scope: FastifyInstance, pages: Pages): void {
  scope.post(
    '/admin/accounts/:id/subscription',
    onSubmit(readSubscription, showAgain('subscription'), async (fields, request) =>
      grant(request, async (by, accountId) => {
        const plan = await findPlan(by.database, fields.plan);
        if (!plan) throw new GrantRefused('This plan no longer exists. Reload the page and choose another.');
        await grantActs.plan(by, { accountId, plan }, fields);
      }),
    ),
  );

  scope.post(
    '/admin/accounts/:id/pack',
    onSubmit(packFields, showAgain('pack'), async (fields, request) =>
      grant(request, async (by, accountId) => {
        await grantActs.pack(by, accountId, fields);
      }),
    ),
  );

  async function grant(
    request: FastifyRequest,
    give: (by: Operating, accountId: number) => Promise<void>,
  ): Promise<string> {
    const { id } = await accountIn(pages, request);
    try {
      await give(operatingOf(pages, request), id);
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

/** The error of the page for an account that is erased, or cannot be erased now. */
function refuseErased(error: unknown): never {
  throw error instanceof ErasureRefused ? new SoukError('BATCH_STATE', { message: error.message }) : error;
}

/** Browsers send an empty string for an empty start. */
function readSubscription(body: unknown) {
  const { starts, ...rest } = body as Record<string, unknown>;
  return readForm(subscriptionFields, starts === '' ? rest : { ...rest, starts });
}
