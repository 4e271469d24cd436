import { Readable } from 'node:stream';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { resetPath } from '../../accounts/passwords.ts';
import { findPerson } from '../../accounts/people.ts';
import { findPlan, GrantRefused } from '../../billing/grants.ts';
import { noteText } from '../../operator/account-notes.ts';
import { accountActs, personalDataActs } from '../../operator/acts/account-acts.ts';
import { grantActs, packFields, subscriptionFields } from '../../operator/acts/sale-acts.ts';
import type { Operating } from '../../operator/audit.ts';
import { ErasureRefused } from '../../operator/personal-data/erasure.ts';
import { SoukError } from '../../platform/errors.ts';
import { ANSWER, Secret } from '../kit/elements.tsx';
import { digits, FormRefused, type FormState, onSubmit, readForm } from '../kit/form-request.ts';
import { sendFile } from '../kit/render.tsx';
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
  scope.post(`${path}/notes`, async (request, reply) => {
    const account = await accountIn(pages, request);
    const form = readForm(noteForm, oneParagraph(request.body));
    const isAdded =
      form.ok && (await accountActs.addNote(operatingOf(pages, request), account.id, form.input.text));
    if (isAdded) return reply.redirect(`/admin/accounts/${account.id}#notes`, 303);
    const faults = form.ok ? { text: 'The account has 200 notes. Delete one first.' } : form.faults;
    const refused = { kind: 'note' as const, form: { values: form.values, faults } };
    return sendAccountPage(pages, reply, account, { refused, status: form.ok ? 409 : 400 });
  });
  scope.post(`${path}/notes/:note/delete`, async (request, reply) => {
    const { id } = await accountIn(pages, request);
    const { data } = noteParams.safeParse(request.params);
    if (!data || !(await accountActs.deleteNote(operatingOf(pages, request), id, data.note)))
      throw new SoukError('NOT_FOUND', { message: 'This account has no such note.' });
    return reply.redirect(`/admin/accounts/${id}#notes`, 303);
  });

  async function setState(request: FastifyRequest, reply: FastifyReply, state: 'active' | 'disabled') {
    const { id } = await accountIn(pages, request);
    await accountActs.setState(operatingOf(pages, request), id, state).catch(refuseErased);
    return reply.redirect(`/admin/accounts/${id}`, 303);
  }

  /** A link of somebody with a role in the installation would give that role away. @throws SoukError KEY_FORBIDDEN. */
  async function requireMayReset({ staff }: FastifyRequest, ownerId: number | null): Promise<void> {
    if (staff?.role === 'operator' || ownerId === null) return;
    if ((await findPerson(pages.database, ownerId))?.installationRole)
      throw new SoukError('KEY_FORBIDDEN', {
        message:
          'The owner of this account has a role in this installation. This requires the role operator.',
      });
  }

  async function createResetLink(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
    const account = await accountIn(pages, request);
    await requireMayReset(request, account.ownerId);
    const token = await accountActs.createReset(operatingOf(pages, request), account.id);
    if (token === null) throw new SoukError('NOT_FOUND', { message: 'This account has no owner.' });
    const shown = (
      <section class="notice good" {...ANSWER}>
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

const noteForm = z.object({ text: noteText });
const noteParams = z.object({ note: digits() });

/** Text areas send line breaks. */
function oneParagraph(body: unknown): Record<string, unknown> {
  const { text, ...others } = (body ?? {}) as Record<string, unknown>;
  return { ...others, text: typeof text === 'string' ? text.replace(/\s+/g, ' ').trim() : text };
}

/** Registers the export and the erasure of the data of an account. */
export function registerOwnership(scope: FastifyInstance, pages: Pages): void {
  const path = '/admin/accounts/:id';
  scope.post(`${path}/export`, async (request, reply) => {
    const { id } = await accountIn(pages, request);
    const pieces = await personalDataActs.export(operatingOf(pages, request), id);
    return sendFile(reply, { name: `account-${id}`, type: 'json' }, Readable.from(pieces));
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

/** Registers the form that grants a subscription to an account without a purchase. */
export function registerSubscriptionGrants(scope: FastifyInstance, pages: Pages): void {
  scope.post(
    '/admin/accounts/:id/subscription',
    onSubmit(readSubscription, showAgain(pages, 'subscription'), async (fields, request) =>
      grant(pages, request, async (by, accountId) => {
        const plan = await findPlan(by.database, fields.plan);
        if (!plan) throw new GrantRefused('This plan no longer exists. Reload the page and choose another.');
        await grantActs.plan(by, { accountId, plan }, fields);
      }),
    ),
  );
}

/** Registers the form that grants a pack to an account without a purchase. */
export function registerPackGrants(scope: FastifyInstance, pages: Pages): void {
  scope.post(
    '/admin/accounts/:id/pack',
    onSubmit(packFields, showAgain(pages, 'pack'), async (fields, request) =>
      grant(pages, request, async (by, accountId) => {
        const most = request.staff?.role === 'support' ? pages.supportGrantUnits : undefined;
        await grantActs.pack(by, accountId, fields, most);
      }),
    ),
  );
}

async function grant(
  pages: Pages,
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

function showAgain(pages: Pages, kind: 'subscription' | 'pack') {
  return async (reply: FastifyReply, form: FormState, status = 200): Promise<FastifyReply> => {
    const account = await accountIn(pages, reply.request);
    return sendAccountPage(pages, reply, account, { refused: { kind, form }, status });
  };
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
