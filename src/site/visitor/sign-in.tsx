import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { findAccount } from '../../accounts/accounts.ts';
import { placesOf } from '../../accounts/attempts.ts';
import { isKnownDevice } from '../../accounts/known-device.ts';
import { findPassword, isPassword } from '../../accounts/passwords.ts';
import { beginPendingSignIn } from '../../accounts/pending-sign-ins.ts';
import { endSession, PasswordChanged } from '../../accounts/sessions.ts';
import { hasTwoFactor } from '../../accounts/two-factor.ts';
import { Field, HiddenFields, PostForm } from '../kit/form.tsx';
import { FormRefused, type FormState, onSubmit } from '../kit/form-request.ts';
import { Page, VISITOR } from '../kit/layout.tsx';
import { presentPassword } from '../kit/new-password-field.tsx';
import { pathWithin } from '../kit/path-within.ts';
import { sendPage } from '../kit/render.tsx';
import type { Pages } from '../pages.ts';
import { clearSessionCookie, DEVICE_COOKIE, setPendingCookie } from '../session.ts';
import { refuseTooMany } from './attempt.ts';
import { EmailField, emailField } from './email-field.tsx';
import { finishSignIn } from './finish-sign-in.ts';
import { CODE_PATH, registerSignInCode } from './sign-in-code.tsx';

const schema = z.object({ email: emailField, password: presentPassword, to: z.string().optional() });

/** Signing in and out. */
export function registerSignIn(scope: FastifyInstance, pages: Pages): void {
  const showForm = (reply: FastifyReply, form: FormState, status?: number) =>
    formPage(pages.mail !== 'none', reply, form, status);

  scope.get<{ Querystring: { to?: string } }>('/sign-in', async (request, reply) => {
    const to = accountPath(request.query.to);
    if (request.session) return reply.redirect(to, 303);
    return showForm(reply, { values: { to }, faults: {} });
  });

  scope.post('/sign-in', onSubmit(schema, showForm, signIn));
  registerSignInCode(scope, pages);

  async function signIn(
    { email, password, to }: z.output<typeof schema>,
    request: FastifyRequest,
    reply: FastifyReply,
  ): Promise<string> {
    const { attempts, database } = pages;
    const stored = await findPassword(database, email);
    const isKnown = stored !== null && isKnownDevice(request.cookies[DEVICE_COOKIE], stored.digest);
    const attempt = { address: request.ip, email, isKnownDevice: isKnown };
    refuseTooMany(pages, reply, await attempts.count(attempt));
    if (!(await isPassword(stored, password, placesOf(attempt))) || stored === null) throw wrongPassword();
    await attempts.forgive(attempt);
    const account = await findAccount(database, stored.accountId);
    if (account?.state !== 'active')
      throw new FormRefused(403, { '': 'This account is disabled. Contact the operator.' });
    if (await hasTwoFactor(database, stored.accountId)) {
      setPendingCookie(reply, await beginPendingSignIn(database, stored, pages.clock.now()));
      return `${CODE_PATH}?to=${encodeURIComponent(accountPath(to))}`;
    }
    try {
      await finishSignIn(pages, request, reply, stored);
    } catch (error) {
      throw error instanceof PasswordChanged ? wrongPassword() : error;
    }
    return accountPath(to);
  }

  scope.post('/sign-out', async ({ session }, reply) => {
    if (session) await endSession(pages.database, session.tokenHash);
    clearSessionCookie(reply, 'customer');
    const wasOperator = session?.kind === 'customer' && session.isOperator;
    return reply.redirect(wasOperator ? `/admin/accounts/${session.accountId}` : '/', 303);
  });
}

function wrongPassword(): FormRefused {
  return new FormRefused(401, { '': 'Incorrect e-mail address or password.' });
}

/** The path that a customer is sent to after signing in: a path of this site, never an address of another site. */
export function accountPath(to: unknown): string {
  return pathWithin(to, ['account', 'docs', 'explore']) ?? '/account';
}

/** @param hasMail whether a visitor can request a new password. */
function formPage(hasMail: boolean, reply: FastifyReply, form: FormState, status?: number): FastifyReply {
  const to = accountPath(form.values.to);
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
        {hasMail ? (
          <p>
            <a href="/forgot-password">Forgot your password?</a>
          </p>
        ) : (
          <p class="hint">
            Forgot your password? Ask the operator of this service for a link that sets a new one.
          </p>
        )}
      </div>
    </Page>,
    status,
  );
}
