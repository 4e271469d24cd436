import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { v7 as uuid } from 'uuid';
import { z } from 'zod';
import { createAccount } from '../../accounts/accounts.ts';
import { hashPassword, setPassword } from '../../accounts/passwords.ts';
import { inTransaction } from '../../platform/db/transaction.ts';
import { Field, HiddenFields, PostForm } from '../kit/form.tsx';
import { FormRefused, type FormState, onSubmit } from '../kit/form-request.ts';
import { Page, VISITOR } from '../kit/layout.tsx';
import { NewPasswordField, newPassword } from '../kit/new-password-field.tsx';
import { sendPage } from '../kit/render.tsx';
import { notify } from '../notify.ts';
import type { Pages } from '../pages.ts';
import { signInCustomer } from '../session.ts';
import { refuseTooMany } from './attempt.ts';
import { EmailField, emailField } from './email-field.tsx';
import { accountPath } from './sign-in.tsx';

const schema = z.object({
  email: emailField,
  name: z
    .string({ error: 'is required' })
    .trim()
    .min(1, 'is required')
    .max(100, 'must have at most 100 characters'),
  password: newPassword,
  to: z.string().optional(),
});

/** Registers the sign-up page. */
export function registerSignUp(scope: FastifyInstance, pages: Pages): void {
  const { database, clock } = pages;

  scope.get<{ Querystring: { to?: string } }>('/sign-up', async (request, reply) => {
    if (request.session) return reply.redirect('/account', 303);
    return showForm(reply, { values: { to: request.query.to }, faults: {} });
  });

  scope.post('/sign-up', onSubmit(schema, showForm, signUp));

  async function signUp(
    { email, name, password, to }: z.output<typeof schema>,
    request: FastifyRequest,
    reply: FastifyReply,
  ): Promise<string> {
    refuseTooMany(pages, reply, await pages.attempts.countSignUp(request.ip));
    const digest = await hashPassword(password);
    const account = await inTransaction(database, async (client) => {
      const created = await createAccount(client, email, name, clock.now());
      if (!created) return null;
      await setPassword(client, created.id, digest, clock.now());
      const facts = { requestId: uuid() };
      await notify(pages, client, { accountId: created.id, kind: 'confirm_email', facts });
      return created;
    });
    if (!account) throw new FormRefused(409, { email: 'already has an account: sign in instead' });
    await signInCustomer(pages, request, reply, { accountId: account.id, digest });
    const path = accountPath(to);
    return path === '/account' ? '/account/plans' : path;
  }
}

function showForm(reply: FastifyReply, form: FormState, status?: number): FastifyReply {
  const to = accountPath(form.values.to);
  return sendPage(
    reply,
    <Page title="Sign up" viewer={VISITOR}>
      <div class="card narrow">
        <h1>Create an account</h1>
        <PostForm action="/sign-up" form={form}>
          <HiddenFields fields={{ to }} />
          <EmailField autocomplete="email" />
          <Field name="name" label="Name or company" autocomplete="name" required maxLength={100} />
          <NewPasswordField label="Password" />
          <button type="submit" class="primary">
            Create account
          </button>
        </PostForm>
        <p>
          Already have an account? <a href={`/sign-in?to=${encodeURIComponent(to)}`}>Sign in</a>
        </p>
      </div>
    </Page>,
    status,
  );
}
