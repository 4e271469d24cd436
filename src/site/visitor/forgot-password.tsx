import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { v7 as uuid } from 'uuid';
import { z } from 'zod';
import { queueMailTo } from '../../mail/queue.ts';
import { PostForm } from '../kit/form.tsx';
import { type FormState, NO_INPUT, onSubmit } from '../kit/form-request.ts';
import { Page, VISITOR } from '../kit/layout.tsx';
import { sendPage } from '../kit/render.tsx';
import type { Pages } from '../pages.ts';
import { refuseTooMany } from './attempt.ts';
import { EmailField, emailField } from './email-field.tsx';

const PATH = '/forgot-password';

const schema = z.object({ email: emailField });

/**
 * Registers the page that requests a link to a new password. Its answer is the same for an address without an account, and
 * takes as long: a worker finds the account later.
 */
export function registerForgotPassword(scope: FastifyInstance, pages: Pages): void {
  const { database, clock, attempts } = pages;
  if (pages.mail === 'none') return;

  scope.get(PATH, async (request, reply) =>
    (request.query as { sent?: string }).sent === '1' ? showSent(reply) : showForm(reply, NO_INPUT),
  );

  scope.post(PATH, onSubmit(schema, showForm, request));

  async function request(
    { email }: z.output<typeof schema>,
    { ip }: FastifyRequest,
    reply: FastifyReply,
  ): Promise<string> {
    refuseTooMany(pages, reply, await attempts.countForgotten(ip, email));
    const facts = { requestId: uuid() };
    const mail = { accountId: null, kind: 'reset_password', to: email, facts } as const;
    await queueMailTo(database, mail, clock.now());
    return `${PATH}?sent=1`;
  }
}

function showForm(reply: FastifyReply, form: FormState, status?: number): FastifyReply {
  return sendPage(
    reply,
    <Page title="Forgot password" viewer={VISITOR}>
      <div class="card narrow">
        <h1>Forgot password</h1>
        <p>Enter the e-mail address of your account. You receive a link that sets a new password.</p>
        <PostForm action={PATH} form={form}>
          <EmailField autocomplete="username" />
          <button type="submit" class="primary">
            Send the link
          </button>
        </PostForm>
      </div>
    </Page>,
    status,
  );
}

function showSent(reply: FastifyReply): FastifyReply {
  return sendPage(
    reply,
    <Page title="Forgot password" viewer={VISITOR}>
      <div class="card narrow">
        <h1>Look at your mails</h1>
        <p role="status">
          If the address has an account, a link is on its way. It works once, within an hour. If no mail
          arrives, look into the folder for spam, or try again.
        </p>
      </div>
    </Page>,
  );
}
