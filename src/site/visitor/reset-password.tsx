import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { accountOfReset, resetPassword } from '../../accounts/password-resets.ts';
import { SoukError } from '../../platform/errors.ts';
import { HiddenFields, PostForm } from '../kit/form.tsx';
import { type FormState, onSubmit } from '../kit/form-request.ts';
import { Page, VISITOR } from '../kit/layout.tsx';
import { NewPasswordField, newPassword } from '../kit/new-password-field.tsx';
import { sendPage } from '../kit/render.tsx';
import { notify } from '../notify.ts';
import type { Pages } from '../pages.ts';
import { clearSessionCookie } from '../session.ts';
import { refuseTooMany } from './attempt.ts';

const tokenField = z.string().regex(/^[\w-]{43}$/);
const reset = z.object({ token: tokenField, password: newPassword });

/** Registers the page on which a link from a mail or from the operator sets a new password. */
export function registerResetPassword(scope: FastifyInstance, pages: Pages): void {
  const { database, clock } = pages;

  scope.get<{ Querystring: { token?: string } }>('/reset-password', async (request, reply) =>
    showForm(reply, { values: { token: request.query.token }, faults: {} }),
  );

  scope.post('/reset-password', onSubmit(reset, showForm, setNewPassword));

  async function setNewPassword(
    { token, password }: z.output<typeof reset>,
    request: FastifyRequest,
    reply: FastifyReply,
  ): Promise<string> {
    // Checked first, so that an invalid link does not cost a password hash.
    const email = await emailOf(pages, token);
    const attempt = { address: request.ip, email: `reset link of ${email}`, isKnownDevice: true };
    refuseTooMany(pages, reply, await pages.attempts.count(attempt));
    const now = clock.now();
    const facts = { at: new Date(now).toISOString() };
    const isSet = await resetPassword(database, token, password, now, (client, accountId) =>
      notify(pages, client, { accountId, kind: 'password_changed', facts }),
    );
    if (!isSet) throw spent();
    clearSessionCookie(reply, 'customer');
    return '/sign-in';
  }

  async function showForm(reply: FastifyReply, form: FormState, status?: number): Promise<FastifyReply> {
    const { token } = form.values;
    const email = await emailOf(pages, token);
    return sendPage(
      reply,
      <Page title="New password" viewer={VISITOR}>
        <div class="card narrow">
          <h1>New password</h1>
          <p>
            For <strong>{email}</strong>. All sessions of this account will be signed out.
          </p>
          <PostForm action="/reset-password" form={form}>
            <HiddenFields fields={{ token }} />
            <NewPasswordField label="New password" />
            <button type="submit" class="primary">
              Set password
            </button>
          </PostForm>
        </div>
      </Page>,
      status,
    );
  }
}

async function emailOf({ database, clock }: Pages, token: unknown): Promise<string> {
  const parsed = tokenField.safeParse(token);
  const email = parsed.success ? await accountOfReset(database, parsed.data, clock.now()) : null;
  if (email === null) throw spent();
  return email;
}

function spent(): SoukError {
  return new SoukError('NOT_FOUND', {
    message: 'This link has been used or has expired. Request a new one.',
  });
}
