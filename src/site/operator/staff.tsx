import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { createTokenMatch, type OperatorGuard } from '../../accounts/operator-token.ts';
import {
  findPersonByEmail,
  hasOperator,
  INSTALLATION_ROLES,
  type InstallationRole,
  listStaff,
  type Person,
} from '../../accounts/people.ts';
import { personActs } from '../../operator/acts/account-acts.ts';
import { holderOf } from '../../operator/audit.ts';
import { SoukError } from '../../platform/errors.ts';
import { Card } from '../kit/elements.tsx';
import { Choice, Field, PostForm, Submit } from '../kit/form.tsx';
import { FormRefused, type FormState, NO_INPUT, onSubmit } from '../kit/form-request.ts';
import { NarrowPage, Page } from '../kit/layout.tsx';
import { sendPage } from '../kit/render.tsx';
import { tableOf } from '../kit/table.tsx';
import { operatingOf, type Pages } from '../pages.ts';
import { returnQuery } from '../session.ts';
import { EmailField, emailField, refuseTooMany } from '../visitor/sign-in.tsx';

const PATH = '/admin/staff';

const TEXTS: Readonly<Record<InstallationRole, string>> = {
  operator: 'Operator: everything',
  support: 'Support: accounts, password links, small grants',
  finance: 'Finance: purchases, plans and packs, grants',
  observer: 'Observer: reads',
};

const NONE = 'none';

const roleForm = z.object({ email: emailField, role: z.enum([...INSTALLATION_ROLES, NONE]) });

/** Registers the page that shows and changes who has a role in the installation. */
export function registerStaff(scope: FastifyInstance, pages: Pages): void {
  const { database } = pages;
  scope.get(PATH, async (_request, reply) => showStaff(reply, NO_INPUT));
  scope.post(PATH, onSubmit(roleForm, showStaff, setRole));

  async function setRole(
    { email, role }: z.output<typeof roleForm>,
    request: FastifyRequest,
  ): Promise<string> {
    const person = await findPersonByEmail(database, email);
    if (!person) throw new FormRefused(404, { email: 'has no profile here: the person signs up first' });
    if (person.id === request.session?.personId)
      throw new FormRefused(409, { email: 'is yours: another operator changes your role' });
    await personActs.setRole(operatingOf(pages, request), person.id, role === NONE ? null : role);
    return PATH;
  }

  async function showStaff(reply: FastifyReply, form: FormState, status?: number): Promise<FastifyReply> {
    const staff = await listStaff(database);
    return sendPage(
      reply,
      <Page title="Staff">
        <p class="lead">People who have a role in this installation. They sign in like customers.</p>
        <StaffTable rows={staff} />
        <Card title="Set a role">
          <PostForm action={PATH} form={form}>
            <EmailField autocomplete="off" />
            <Choice
              name="role"
              label="Role"
              options={[...INSTALLATION_ROLES.map((role) => [role, TEXTS[role]] as const), [NONE, 'None']]}
            />
            <Submit>Save</Submit>
          </PostForm>
          <p class="hint">The person is signed out, and signs in again with the new role.</p>
        </Card>
      </Page>,
      status,
    );
  }
}

const StaffTable = tableOf<Person>('Staff', 'No person has a role yet.', [
  ['E-mail address', ({ email }) => email, 'row'],
  ['Name', ({ name }) => name],
  ['Role', ({ installationRole }) => installationRole && TEXTS[installationRole]],
]);

const CLAIM_PATH = '/admin/claim';

const claimForm = z.object({ token: z.string().min(1, 'is required').max(1_000) });

/** Registers the page on which the first operator enters the operator token, once. */
export function registerClaim(
  scope: FastifyInstance,
  pages: Pages,
  { adminToken, guard }: { adminToken: string; guard: OperatorGuard },
): void {
  const { database, clock } = pages;
  const isToken = createTokenMatch(adminToken);

  scope.register(async (open) => {
    open.addHook('preHandler', async (request, reply) => {
      if (!request.session) return reply.redirect(`/sign-in${returnQuery(CLAIM_PATH)}`, 303);
      if (await hasOperator(database)) throw new SoukError('NOT_FOUND');
      return undefined;
    });
    open.get(CLAIM_PATH, async (_request, reply) => showForm(reply, NO_INPUT));
    open.post(CLAIM_PATH, onSubmit(claimForm, showForm, claim));
  });

  async function claim(
    { token }: z.output<typeof claimForm>,
    { ip, session }: FastifyRequest,
    reply: FastifyReply,
  ): Promise<string> {
    const { isRight, waitSeconds } = await guard(ip, isToken(token));
    refuseTooMany(pages, reply, waitSeconds);
    if (!isRight || !session) throw new FormRefused(401, { token: 'Incorrect operator token' });
    const by = { database, operator: holderOf(adminToken, ip), now: clock.now() };
    if (!(await personActs.claim(by, session.personId))) throw new SoukError('NOT_FOUND');
    return '/admin';
  }

  function showForm(reply: FastifyReply, form: FormState, status?: number): FastifyReply {
    return sendPage(
      reply,
      <NarrowPage title="First operator">
        <p>
          This installation has no operator yet. Enter the value of <code>ADMIN_TOKEN</code> to become its
          operator. After that, operators give other people their roles.
        </p>
        <PostForm action={CLAIM_PATH} form={{ ...form, values: {} }}>
          <Field name="token" label="Operator token" type="password" autocomplete="off" required />
          <Submit>Become the operator</Submit>
        </PostForm>
      </NarrowPage>,
      status,
    );
  }
}
