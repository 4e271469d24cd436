import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { accountActs } from '../../operator/acts/account-acts.ts';
import { Field, PostForm } from '../kit/form.tsx';
import { FormRefused, type FormState, NO_INPUT, onSubmit } from '../kit/form-request.ts';
import { Page } from '../kit/layout.tsx';
import { sendPage } from '../kit/render.tsx';
import { operatingOf, type Pages } from '../pages.ts';
import { EmailField, emailField } from '../visitor/email-field.tsx';

const PATH = '/admin/accounts/new';

const schema = z.object({
  email: emailField,
  name: z.string().trim().max(100, 'must have at most 100 characters').default(''),
});

/** Registers the page that creates the account of a customer, who has no password, key or units yet. */
export function registerNewAccount(scope: FastifyInstance, pages: Pages): void {
  scope.get(PATH, (_request, reply) => showForm(reply, NO_INPUT));
  scope.post(PATH, onSubmit(schema, showForm, create));

  async function create({ email, name }: z.output<typeof schema>, request: FastifyRequest): Promise<string> {
    const account = await accountActs.create(operatingOf(pages, request), { email, name: name || email });
    if (!account) throw new FormRefused(409, { email: 'already has an account' });
    return `/admin/accounts/${account.id}`;
  }
}

function showForm(reply: FastifyReply, form: FormState, status?: number): FastifyReply {
  return sendPage(
    reply,
    <Page title="New account" path="/admin/accounts">
      <p>
        <a href="/admin/accounts">All accounts</a>
      </p>
      <h1>New account</h1>
      <section class="card">
        <PostForm action={PATH} form={form}>
          <EmailField autocomplete="off" />
          <Field name="name" label="Name or company" maxLength={100} hint="Default: the e-mail address." />
          <button type="submit" class="primary">
            Create account
          </button>
        </PostForm>
        <p class="hint">
          On the next page, create a link with which the customer sets a password, and grant units or a plan.
        </p>
      </section>
    </Page>,
    status,
  );
}
