import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { findAccount } from '../../accounts/accounts.ts';
import { accountWithPassword, PASSWORD_LENGTH } from '../../accounts/passwords.ts';
import { beginSession, endSession } from '../../accounts/sessions.ts';
import { Field, FormFault, type FormFaults, type FormValues, PostForm, readForm } from '../kit/form.tsx';
import { Page } from '../kit/layout.tsx';
import { sendPage } from '../kit/render.ts';
import type { Pages } from '../pages.ts';
import { forgetToken, keepToken } from '../session.ts';

export const emailField = z
  .string({ error: 'is missing' })
  .trim()
  .toLowerCase()
  .max(254, 'is too long')
  .pipe(z.email('is not an e-mail address'));

const signIn = z.object({
  email: emailField,
  password: z.string({ error: 'is missing' }).min(1, 'is missing').max(PASSWORD_LENGTH.max, 'is too long'),
  to: z.string().optional(),
});

/** In and out. */
export function registerSignIn(scope: FastifyInstance, pages: Pages): void {
  const { gateway, attempts } = pages;
  const { database, clock } = gateway;

  scope.get<{ Querystring: { to?: string } }>('/sign-in', async (request, reply) => {
    const to = pathWithin(request.query.to);
    if (request.session) return reply.redirect(to, 303);
    return send(request, reply, { to }, {});
  });

  scope.post('/sign-in', async (request, reply) => {
    const form = readForm(signIn, request.body);
    if (!form.ok) return send(request, reply, form.values, form.faults, 400);
    const { email, password, to } = form.input;
    const attempt = { address: request.ip, email };
    const waitSeconds = await attempts.count(attempt);
    if (waitSeconds !== null) {
      reply.header('retry-after', waitSeconds);
      return send(request, reply, form.values, { '': tooManyAttempts(waitSeconds) }, 429);
    }
    const accountId = await accountWithPassword(database, email, password);
    if (accountId === null)
      return send(request, reply, form.values, { '': 'E-mail address or password is wrong.' }, 401);
    await attempts.forgive(attempt);
    const account = await findAccount(database, accountId);
    if (account?.state !== 'active')
      return send(request, reply, form.values, { '': 'This account is disabled. Ask the operator.' }, 403);
    if (request.session) await endSession(database, request.session.tokenHash);
    // Always a new one: a token that somebody else has put into the browser is worth nothing.
    keepToken(reply, pages, 'customer', await beginSession(database, { accountId }, clock.now()));
    return reply.redirect(pathWithin(to), 303);
  });

  scope.post('/sign-out', async (request, reply) => {
    const { session } = request;
    if (session) await endSession(database, session.tokenHash);
    forgetToken(reply, pages, 'customer');
    const wasOperator = session?.kind === 'customer' && session.isOperator;
    return reply.redirect(wasOperator ? `/admin/accounts/${session.accountId}` : '/', 303);
  });
}

/** A path of these pages, never an address of another site. */
export function pathWithin(to: unknown): string {
  if (typeof to !== 'string' || !/^\/[a-z][\x21-\x5b\x5d-\x7e]*$/.test(to)) return '/account';
  return to.startsWith('/account') || to.startsWith('/docs') ? to : '/account';
}

export function tooManyAttempts(waitSeconds: number): string {
  return `Too many attempts. Wait ${Math.ceil(waitSeconds / 60)} minutes before the next.`;
}

function send(
  request: FastifyRequest,
  reply: FastifyReply,
  values: FormValues,
  faults: FormFaults,
  status = 200,
): FastifyReply {
  return sendPage(
    reply,
    <Page title="Sign in" viewer={{ kind: 'visitor' }} path={request.url}>
      <div class="card narrow">
        <h1>Sign in</h1>
        <PostForm action="/sign-in" csrf={reply.generateCsrf()}>
          <FormFault faults={faults} />
          <input type="hidden" name="to" value={pathWithin(values.to)} />
          <Field
            name="email"
            label="E-mail address"
            type="email"
            autocomplete="username"
            required
            value={values.email}
            fault={faults.email}
          />
          <Field
            name="password"
            label="Password"
            type="password"
            autocomplete="current-password"
            required
            fault={faults.password}
          />
          <button type="submit" class="primary">
            Sign in
          </button>
        </PostForm>
        <p>
          New here? <a href={`/sign-up?to=${encodeURIComponent(pathWithin(values.to))}`}>Create an account</a>
        </p>
        <p class="hint">
          A forgotten password? The operator of this service has a link for you that sets a new one.
        </p>
      </div>
    </Page>,
    status,
  );
}
