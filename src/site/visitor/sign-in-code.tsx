import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { endPendingSignIn, findPendingSignIn } from '../../accounts/pending-sign-ins.ts';
import { PasswordChanged } from '../../accounts/sessions.ts';
import { verifyCode } from '../../accounts/two-factor.ts';
import { HiddenFields, PostForm } from '../kit/form.tsx';
import { FormRefused, type FormState, onSubmit } from '../kit/form-request.ts';
import { Page, VISITOR } from '../kit/layout.tsx';
import { pathWithin } from '../kit/path-within.ts';
import { sendPage } from '../kit/render.tsx';
import { CodeField, codeInput } from '../kit/two-factor.tsx';
import type { Pages } from '../pages.ts';
import { clearPendingCookie, PENDING_COOKIE } from '../session.ts';
import { refuseTooMany } from './attempt.ts';
import { finishSignIn } from './finish-sign-in.ts';

export const CODE_PATH = '/sign-in/code';

const schema = z.object({ code: codeInput, to: z.string().optional() });

/** Registers the second step of signing in to an account with a second factor: a code after the password. */
export function registerSignInCode(scope: FastifyInstance, pages: Pages): void {
  const { database, clock, attempts, secretBox } = pages;

  scope.get<{ Querystring: { to?: string } }>(CODE_PATH, async (request, reply) =>
    (await pendingOf(request)) === null
      ? reply.redirect('/sign-in', 303)
      : showForm(reply, { values: { to: request.query.to }, faults: {} }),
  );
  scope.post(CODE_PATH, onSubmit(schema, showForm, submitCode));

  async function submitCode(
    { code, to }: z.output<typeof schema>,
    request: FastifyRequest,
    reply: FastifyReply,
  ): Promise<string> {
    const pending = await pendingOf(request);
    if (pending === null) return '/sign-in';
    const { accountId } = pending;
    // Counted for the account from everywhere: the visitor knows the password.
    const attempt = { address: request.ip, email: `code of account ${accountId}`, isKnownDevice: true };
    refuseTooMany(pages, reply, await attempts.count(attempt));
    if (!(await verifyCode(database, secretBox, accountId, { code, now: clock.now() })))
      throw new FormRefused(401, { code: 'Incorrect code, or a code that was used before' });
    await attempts.forgive(attempt);
    await endPendingSignIn(database, request.cookies[PENDING_COOKIE] ?? '');
    clearPendingCookie(reply);
    try {
      await finishSignIn(pages, request, reply, pending);
    } catch (error) {
      if (error instanceof PasswordChanged) return '/sign-in';
      throw error;
    }
    return pathWithin(to, ['account', 'docs', 'explore']) ?? '/account';
  }

  function pendingOf({ cookies }: FastifyRequest) {
    const token = cookies[PENDING_COOKIE];
    return token ? findPendingSignIn(database, token, clock.now()) : Promise.resolve(null);
  }
}

function showForm(reply: FastifyReply, form: FormState, status?: number): FastifyReply {
  return sendPage(
    reply,
    <Page title="Sign in" viewer={VISITOR}>
      <div class="card narrow">
        <h1>Enter your code</h1>
        <PostForm action={CODE_PATH} form={form}>
          <HiddenFields fields={{ to: form.values.to }} />
          <CodeField label="Code" hint="The six digits that your app shows, or a recovery code" />
          <button type="submit" class="primary">
            Sign in
          </button>
        </PostForm>
        <p class="hint">
          Without the app and the recovery codes, ask the operator of this service to turn two-factor sign-in
          off.
        </p>
      </div>
    </Page>,
    status,
  );
}
