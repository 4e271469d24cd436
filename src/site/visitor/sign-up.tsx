import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { createAccount } from '../../accounts/accounts.ts';
import { hashPassword, setPassword } from '../../accounts/passwords.ts';
import { beginSession, endSession } from '../../accounts/sessions.ts';
import { inTransaction } from '../../platform/db/transaction.ts';
import { Field, FormFault, type FormFaults, type FormValues, PostForm, readForm } from '../kit/form.tsx';
import { Page } from '../kit/layout.tsx';
import { NewPasswordField, newPassword } from '../kit/new-password-field.tsx';
import { sendPage } from '../kit/render.ts';
import type { Pages } from '../pages.ts';
import { keepToken } from '../session.ts';
import { emailField, pathWithin, tooManyAttempts } from './sign-in.tsx';

const signUp = z.object({
  email: emailField,
  name: z
    .string({ error: 'is missing' })
    .trim()
    .min(1, 'is missing')
    .max(100, 'must have at most 100 characters'),
  password: newPassword,
  to: z.string().optional(),
});

/** A new account, of whoever comes. */
export function registerSignUp(scope: FastifyInstance, pages: Pages): void {
  const { gateway, attempts } = pages;
  const { database, clock } = gateway;

  scope.get<{ Querystring: { to?: string } }>('/sign-up', async (request, reply) => {
    if (request.session) return reply.redirect('/account', 303);
    return send(request, reply, { to: pathWithin(request.query.to) }, {});
  });

  scope.post('/sign-up', async (request, reply) => {
    const form = readForm(signUp, request.body);
    if (!form.ok) return send(request, reply, form.values, form.faults, 400);
    const { email, name, password, to } = form.input;
    const attempt = { address: request.ip, email: null };
    const waitSeconds = await attempts.count(attempt);
    if (waitSeconds !== null) {
      reply.header('retry-after', waitSeconds);
      return send(request, reply, form.values, { '': tooManyAttempts(waitSeconds) }, 429);
    }
    const digest = await hashPassword(password);
    const account = await inTransaction(database, async (client) => {
      const created = await createAccount(client, email, name, clock.now());
      if (created) await setPassword(client, created.id, digest, clock.now());
      return created;
    });
    if (!account)
      return send(request, reply, form.values, { email: 'has an account already: sign in instead' }, 409);
    await attempts.forgive(attempt);
    if (request.session) await endSession(database, request.session.tokenHash);
    keepToken(reply, pages, 'customer', await beginSession(database, { accountId: account.id }, clock.now()));
    return reply.redirect(pathWithin(to) === '/account' ? '/account/plans' : pathWithin(to), 303);
  });
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
    <Page title="Sign up" viewer={{ kind: 'visitor' }} path={request.url}>
      <div class="card narrow">
        <h1>Create an account</h1>
        <PostForm action="/sign-up" csrf={reply.generateCsrf()}>
          <FormFault faults={faults} />
          <input type="hidden" name="to" value={pathWithin(values.to)} />
          <Field
            name="email"
            label="E-mail address"
            type="email"
            autocomplete="email"
            required
            value={values.email}
            fault={faults.email}
          />
          <Field
            name="name"
            label="Name, or company"
            autocomplete="name"
            required
            maxLength={100}
            value={values.name}
            fault={faults.name}
          />
          <NewPasswordField label="Password" fault={faults.password} />
          <button type="submit" class="primary">
            Create the account
          </button>
        </PostForm>
        <p>
          You have one? <a href={`/sign-in?to=${encodeURIComponent(pathWithin(values.to))}`}>Sign in</a>
        </p>
      </div>
    </Page>,
    status,
  );
}
