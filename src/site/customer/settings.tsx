import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { changePassword, findPassword, isPassword } from '../../accounts/passwords.ts';
import { Facts } from '../kit/facts.tsx';
import { Field, PostForm } from '../kit/form.tsx';
import { FormRefused, type FormState, NO_INPUT, onSubmit } from '../kit/form-request.ts';
import { Page } from '../kit/layout.tsx';
import { NewPasswordField, newPassword, presentPassword } from '../kit/new-password-field.tsx';
import { sendPage } from '../kit/render.tsx';
import type { Pages } from '../pages.ts';
import { customerOf, DEVICE_COOKIE, rememberDevice } from '../session.ts';
import { refuseTooMany } from '../visitor/attempt.ts';

const schema = z.object({ current: presentPassword, password: newPassword });

/** Registers the settings page: the account's details and its password. */
export function registerSettings(scope: FastifyInstance, pages: Pages): void {
  const { database, clock } = pages;

  scope.get('/account/settings', async (_request, reply) => showSettings(reply, NO_INPUT));
  scope.post('/account/settings/password', onSubmit(schema, showSettings, submitPassword));

  async function submitPassword(
    { current, password }: z.output<typeof schema>,
    request: FastifyRequest,
    reply: FastifyReply,
  ): Promise<string> {
    const { email, accountId, tokenHash } = customerOf(request);
    const attempt = { address: request.ip, email, isKnownDevice: true };
    refuseTooMany(pages, reply, await pages.attempts.count(attempt));
    const stored = await findPassword(database, email);
    if (!(await isPassword(stored, current)) || stored?.accountId !== accountId)
      throw new FormRefused(400, { current: 'Incorrect password' });
    await pages.attempts.forgive(attempt);
    const change = { password, session: tokenHash, now: clock.now() };
    const digest = await changePassword(database, stored, change);
    if (digest === null) throw new FormRefused(400, { current: 'Incorrect password' });
    rememberDevice(reply, DEVICE_COOKIE, digest);
    return '/account/settings?changed=1';
  }
}

function showSettings(reply: FastifyReply, form: FormState, status?: number): FastifyReply {
  const { request } = reply;
  const { email, name, accountId } = customerOf(request);
  const isChanged = (request.query as { changed?: string }).changed === '1';
  return sendPage(
    reply,
    <Page title="Settings">
      <h1>Settings</h1>
      {isChanged && (
        <div class="notice good" role="status">
          <p>Your password has been changed. All other sessions have been signed out.</p>
        </div>
      )}
      <section class="card">
        <h2>Account</h2>
        <Facts
          facts={[
            ['E-mail address', email],
            ['Name', name],
            ['Account number', accountId],
          ]}
        />
      </section>
      <section class="card">
        <h2>Change password</h2>
        <PostForm action="/account/settings/password" form={form}>
          <Field
            name="current"
            label="Current password"
            type="password"
            autocomplete="current-password"
            required
          />
          <NewPasswordField label="New password" hint="All other sessions are signed out." />
          <button type="submit" class="primary">
            Change password{' '}
          </button>
        </PostForm>
      </section>
    </Page>,
    status,
  );
}
