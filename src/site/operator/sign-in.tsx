import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import type { OperatorGuard } from '../../accounts/operator-guard.ts';
import { operatorPendingToken } from '../../accounts/operator-pending.ts';
import { OPERATOR_DEVICE_COOKIE } from '../../accounts/operator-session.ts';
import { createTokenMatch, credentialOf } from '../../accounts/operator-token.ts';
import { endSession, findSession } from '../../accounts/sessions.ts';
import { sessionActs } from '../../operator/acts/session-acts.ts';
import { Field, HiddenFields, PostForm } from '../kit/form.tsx';
import { FormRefused, type FormState, onSubmit } from '../kit/form-request.ts';
import { Page, VISITOR } from '../kit/layout.tsx';
import { sendPage } from '../kit/render.tsx';
import { operatingOf, type Pages } from '../pages.ts';
import { clearSessionCookie, SESSION_COOKIES, setPendingCookie } from '../session.ts';
import { refuseTooMany } from '../visitor/attempt.ts';
import { consolePath, OPERATOR_CODE_PATH, openConsole } from './sign-in-code.tsx';

const schema = z.object({
  token: z
    .string({ error: 'is required' })
    .trim()
    .min(1, 'is required')
    .max(1_000, 'must have at most 1,000 characters'),
  to: z.string().optional(),
});

/** Registers signing in to the operator console and signing out. */
export function registerOperatorSignIn(
  scope: FastifyInstance,
  pages: Pages,
  { adminToken, guard }: { adminToken: string; guard: OperatorGuard },
): void {
  const { database, clock } = pages;
  const isToken = createTokenMatch(adminToken);

  scope.get<{ Querystring: { to?: string } }>('/admin/sign-in', async (request, reply) => {
    const { to } = request.query;
    if (request.session) return reply.redirect(consolePath(to), 303);
    return showForm(reply, { values: { to }, faults: {} });
  });
  scope.post('/admin/sign-in', onSubmit(schema, showForm, signIn));
  scope.post('/admin/sign-out', signOut);

  async function signIn(
    { token, to }: z.output<typeof schema>,
    request: FastifyRequest,
    reply: FastifyReply,
  ): Promise<string> {
    const device = request.cookies[OPERATOR_DEVICE_COOKIE];
    const guess = { address: request.ip, device, isRight: isToken(token) };
    const { isRight, waitSeconds } = await guard.judge(guess);
    refuseTooMany(pages, reply, waitSeconds);
    if (!isRight) throw new FormRefused(401, { token: 'Incorrect token' });
    const session = await sessionActs.begin(operatingOf(pages, request), credentialOf(adminToken));
    if (session === null) {
      setPendingCookie(reply, operatorPendingToken(adminToken, clock.now()));
      return `${OPERATOR_CODE_PATH}?to=${encodeURIComponent(consolePath(to))}`;
    }
    openConsole(reply, session, adminToken);
    return consolePath(to);
  }

  async function signOut(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
    if (request.session) await sessionActs.end(operatingOf(pages, request), request.session.tokenHash);
    clearSessionCookie(reply, 'operator');
    // Ends the operator's session on a customer's pages as well.
    const cookie = request.cookies[SESSION_COOKIES.customer];
    const viewing = cookie ? await findSession(database, cookie, clock.now()) : null;
    if (viewing?.kind === 'customer' && viewing.isOperator) {
      await endSession(database, viewing.tokenHash);
      clearSessionCookie(reply, 'customer');
    }
    return reply.redirect('/admin/sign-in', 303);
  }
}

function showForm(reply: FastifyReply, form: FormState, status?: number): FastifyReply {
  return sendPage(
    reply,
    <Page title="Operator console" viewer={VISITOR}>
      <div class="card narrow">
        <h1>Operator console</h1>
        <PostForm action="/admin/sign-in" form={form}>
          <HiddenFields fields={{ to: consolePath(form.values.to) }} />
          <Field
            name="token"
            label="Operator token"
            type="password"
            autocomplete="current-password"
            required
            hint="The value of the setting ADMIN_TOKEN of this installation."
          />
          <button type="submit" class="primary">
            Sign in
          </button>
        </PostForm>
        <p>
          <a href="/sign-in">Sign in as a customer</a>
        </p>
      </div>
    </Page>,
    status,
  );
}
