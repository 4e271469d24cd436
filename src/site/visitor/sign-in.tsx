import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { findAccount } from '../../accounts/accounts.ts';
import { accountWithPassword } from '../../accounts/passwords.ts';
import { endSession } from '../../accounts/sessions.ts';
import { Field, HiddenFields, PostForm } from '../kit/form.tsx';
import { FormRefused, type FormState, onSubmit } from '../kit/form-request.ts';
import { Page, VISITOR } from '../kit/layout.tsx';
import { presentPassword } from '../kit/new-password-field.tsx';
import { sendPage } from '../kit/render.tsx';
import type { Pages } from '../pages.ts';
import { clearSessionCookie, signInCustomer } from '../session.ts';
import { countAttempt } from './attempt.ts';
import { EmailField, emailField } from './email-field.tsx';

const schema = z.object({ email: emailField, password: presentPassword, to: z.string().optional() });

/** Signing in and out. */
export function registerSignIn(scope: FastifyInstance, pages: Pages): void {
  scope.get<{ Querystring: { to?: string } }>('/sign-in', async (request, reply) => {
    const to = pathWithin(request.query.to);
    if (request.session) return reply.redirect(to, 303);
    return showForm(reply, { values: { to }, faults: {} });
  });

  scope.post('/sign-in', onSubmit(schema, showForm, signIn));

  async function signIn(
    { email, password, to }: z.output<typeof schema>,
    request: FastifyRequest,
    reply: FastifyReply,
  ): Promise<string> {
    const attempt = { address: request.ip, email };
    await countAttempt(pages, reply, attempt);
    const accountId = await accountWithPassword(pages.database, email, password);
    if (accountId === null) throw new FormRefused(401, { '': 'Incorrect e-mail address or password.' });
    await pages.attempts.forgive(attempt);
    const account = await findAccount(pages.database, accountId);
    if (account?.state !== 'active')
      throw new FormRefused(403, { '': 'This account is disabled. Contact the operator.' });
    await signInCustomer(pages, request, reply, accountId);
    return pathWithin(to);
  }

  scope.post('/sign-out', async ({ session }, reply) => {
    if (session) await endSession(pages.database, session.tokenHash);
    clearSessionCookie(reply, pages, 'customer');
    const wasOperator = session?.kind === 'customer' && session.isOperator;
    return reply.redirect(wasOperator ? `/admin/accounts/${session.accountId}` : '/', 303);
  });
}

/** A path of this site, never an address of another site. */
export function pathWithin(to: unknown): string {
  if (typeof to !== 'string' || !/^\/[a-z][\x21-\x5b\x5d-\x7e]*$/.test(to)) return '/account';
  return to.startsWith('/account') || to.startsWith('/docs') ? to : '/account';
}

function showForm(reply: FastifyReply, form: FormState, status?: number): FastifyReply {
  const to = pathWithin(form.values.to);
  return sendPage(
    reply,
    <Page title="Sign in" viewer={VISITOR}>
      <div class="card narrow">
        <h1>Sign in</h1>
        <PostForm action="/sign-in" form={form}>
          <HiddenFields fields={{ to }} />
          <EmailField autocomplete="username" />
          <Field name="password" label="Password" type="password" autocomplete="current-password" required />
          <button type="submit" class="primary">
            Sign in
          </button>
        </PostForm>
        <p>
          New here? <a href={`/sign-up?to=${encodeURIComponent(to)}`}>Create an account</a>
        </p>
        <p class="hint">
          Forgot your password? Ask the operator of this service for a link that sets a new one.
        </p>
      </div>
    </Page>,
    status,
  );
}
