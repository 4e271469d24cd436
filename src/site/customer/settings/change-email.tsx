import type { FastifyReply, FastifyRequest } from 'fastify';
import type { VNode } from 'preact';
import { v7 as uuid } from 'uuid';
import { z } from 'zod';
import { isEmailTaken } from '../../../accounts/accounts.ts';
import { endEmailConfirmations } from '../../../accounts/email-confirmations.ts';
import { queueMailTo } from '../../../mail/queue.ts';
import { inTransaction } from '../../../platform/db/transaction.ts';
import { Field, PostForm } from '../../kit/form.tsx';
import { FormRefused, type FormState } from '../../kit/form-request.ts';
import { presentPassword } from '../../kit/new-password-field.tsx';
import { notify } from '../../notify.ts';
import type { Pages } from '../../pages.ts';
import { customerOf } from '../../session.ts';
import { refuseTooMany } from '../../visitor/attempt.ts';
import { emailField } from '../../visitor/email-field.tsx';
import { verifyPassword } from './verify-password.ts';

export const emailChange = z.object({ email: emailField, password: presentPassword });

export const EMAIL_PATH = '/account/settings/email';

/** Sends a link to the new address, which takes effect when it is opened, and informs the present address. */
export async function requestEmailChange(
  pages: Pages,
  { email, password }: z.output<typeof emailChange>,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<string> {
  const { database, clock, attempts } = pages;
  const { liveAccountId: accountId, email: present } = customerOf(request);
  await verifyPassword(pages, request, reply, { field: 'password', password });
  if (email === present) throw new FormRefused(400, { email: 'is already the address of this account' });
  if (await isEmailTaken(database, email)) throw new FormRefused(409, { email: 'has another account' });
  refuseTooMany(pages, reply, await attempts.countMail(accountId));
  const facts = { requestId: uuid() };
  await inTransaction(database, async (client) => {
    await endEmailConfirmations(client, accountId);
    await queueMailTo(client, { accountId, kind: 'confirm_new_email', to: email, facts }, clock.now());
    await notify(pages, client, { accountId, kind: 'email_changing', facts: { ...facts, newEmail: email } });
  });
  return '/account/settings?sent=1';
}

export function ChangeEmail({ form }: { form: FormState }): VNode {
  return (
    <section class="card">
      <h2>Change e-mail address</h2>
      <PostForm action={EMAIL_PATH} form={form}>
        <Field
          name="email"
          label="New e-mail address"
          type="email"
          autocomplete="email"
          required
          hint="The change takes effect when you open the link in the mail to the new address."
        />
        <Field
          name="password"
          id="email-password"
          label="Password"
          type="password"
          autocomplete="current-password"
          required
        />
        <button type="submit">Send the link</button>
      </PostForm>
    </section>
  );
}
