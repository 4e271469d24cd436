import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { VNode } from 'preact';
import { z } from 'zod';
import { changePassword } from '../../../accounts/passwords.ts';
import { topicsOff } from '../../../mail/choices.ts';
import { erasureOf } from '../../../operator/personal-data/erasure.ts';
import { Facts } from '../../kit/facts.tsx';
import { Field, PostForm } from '../../kit/form.tsx';
import { FormRefused, type FormState, NO_INPUT, onSubmit } from '../../kit/form-request.ts';
import { Page } from '../../kit/layout.tsx';
import { NewPasswordField, newPassword, presentPassword } from '../../kit/new-password-field.tsx';
import { sendPage } from '../../kit/render.tsx';
import { notify } from '../../notify.ts';
import type { Pages } from '../../pages.ts';
import { customerOf, DEVICE_COOKIE, rememberDevice } from '../../session.ts';
import { ChangeEmail, EMAIL_PATH, emailChange, requestEmailChange } from './change-email.tsx';
import { confirmBanner, registerSendConfirmation } from './confirm-banner.tsx';
import { NoticeSwitches, registerNoticeSwitches } from './notice-switches.tsx';
import { OwnData, registerOwnData } from './own-data.tsx';
import { registerTwoFactor } from './two-factor.tsx';
import { verifyPassword } from './verify-password.ts';

const PATH = '/account/settings';

const passwordChange = z.object({ current: presentPassword, password: newPassword });

/** A form of the page that is shown again with its faults. */
interface ShownForms {
  password?: FormState;
  email?: FormState;
  erasure?: FormState;
}

/** Registers the settings page: the account's details, its e-mail address and its password. */
export function registerSettings(scope: FastifyInstance, pages: Pages): void {
  const { database, clock, mail } = pages;
  const show = (name: keyof ShownForms) => (reply: FastifyReply, form: FormState, status?: number) =>
    showSettings(pages, reply, { [name]: form }, status);

  scope.get(PATH, async (_request, reply) => showSettings(pages, reply, {}));
  scope.post(`${PATH}/password`, onSubmit(passwordChange, show('password'), submitPassword));
  registerOwnData(scope, pages, show('erasure'));
  registerTwoFactor(scope, pages);
  if (mail === 'none') return;
  registerSendConfirmation(scope, pages);
  registerNoticeSwitches(scope, pages);
  scope.post(
    EMAIL_PATH,
    onSubmit(emailChange, show('email'), (input, request, reply) =>
      requestEmailChange(pages, input, request, reply),
    ),
  );

  async function submitPassword(
    { current, password }: z.output<typeof passwordChange>,
    request: FastifyRequest,
    reply: FastifyReply,
  ): Promise<string> {
    const { liveAccountId: accountId, tokenHash } = customerOf(request);
    const stored = await verifyPassword(pages, request, reply, { field: 'current', password: current });
    const now = clock.now();
    const facts = { at: new Date(now).toISOString() };
    const digest = await changePassword(database, stored, { password, session: tokenHash, now }, (client) =>
      notify(pages, client, { accountId, kind: 'password_changed', facts }),
    );
    if (digest === null) throw new FormRefused(400, { current: 'Incorrect password' });
    rememberDevice(reply, DEVICE_COOKIE, digest);
    return `${PATH}?changed=1`;
  }
}

async function showSettings(
  pages: Pages,
  reply: FastifyReply,
  forms: ShownForms,
  status?: number,
): Promise<FastifyReply> {
  const { request } = reply;
  const { email, name, liveAccountId: accountId } = customerOf(request);
  const { changed, sent, saved } = request.query as Record<string, string | undefined>;
  const [banner, erasure, off] = await Promise.all([
    confirmBanner(pages, request),
    erasureOf(pages.database, accountId),
    topicsOff(pages.database, accountId),
  ]);
  return sendPage(
    reply,
    <Page title="Settings">
      <h1>Settings</h1>
      {changed === '1' && (
        <Done>Your password has been changed. All other sessions have been signed out.</Done>
      )}
      {sent === '1' && <Done>A mail is on its way. Its link works once, within 24 hours.</Done>}
      {saved === '1' && <Done>Your choice of notices has been saved.</Done>}
      {banner}
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
      {pages.mail !== 'none' && <ChangeEmail form={forms.email ?? NO_INPUT} />}
      <ChangePassword form={forms.password ?? NO_INPUT} />
      <section class="card">
        <h2>Two-factor sign-in</h2>
        <p>
          <a href={`${PATH}/two-factor`}>A code of an app, after the password</a>
        </p>
      </section>
      {pages.mail !== 'none' && <NoticeSwitches off={off} />}
      <OwnData erasure={erasure} form={forms.erasure ?? NO_INPUT} />
    </Page>,
    status,
  );
}

function Done({ children }: { children: string }): VNode {
  return (
    <div class="notice good" role="status">
      <p>{children}</p>
    </div>
  );
}

function ChangePassword({ form }: { form: FormState }): VNode {
  return (
    <section class="card">
      <h2>Change password</h2>
      <PostForm action={`${PATH}/password`} form={form}>
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
  );
}
