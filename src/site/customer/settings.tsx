import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { VNode } from 'preact';
import { v7 as uuid } from 'uuid';
import { z } from 'zod';
import { endEmailConfirmations, findAccount, isEmailTaken } from '../../accounts/accounts.ts';
import { changePassword } from '../../accounts/passwords.ts';
import { erasureOf } from '../../operator/personal-data/erasure.ts';
import { setTopicsOff, topicsOff } from '../../outbox/mail/choices.ts';
import { TOPICS, type Topic } from '../../outbox/mail/kinds/content.ts';
import { queueMail } from '../../outbox/mail/mails.ts';
import { inTransaction } from '../../platform/db/transaction.ts';
import { SoukError } from '../../platform/errors.ts';
import { Card, Facts, Notice } from '../kit/elements.tsx';
import {
  Field,
  NewPasswordField,
  newPassword,
  PostButton,
  PostForm,
  presentPassword,
  Submit,
} from '../kit/form.tsx';
import { FormRefused, type FormState, NO_INPUT, onSubmit, readValues } from '../kit/form-request.ts';
import { Page } from '../kit/layout.tsx';
import { sendPage } from '../kit/render.tsx';
import { notify, type Pages } from '../pages.ts';
import { customerOf, DEVICE_COOKIE, rememberDevice } from '../session.ts';
import { emailField, refuseTooMany, verifyPassword } from '../visitor/sign-in.tsx';
import { OwnData, registerOwnData } from './own-data.tsx';
import { registerTwoFactor } from './two-factor-settings.tsx';

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
      {changed === '1' && (
        <Done>Your password has been changed. All other sessions have been signed out.</Done>
      )}
      {sent === '1' && <Done>A mail is on its way. Its link works once, within 24 hours.</Done>}
      {saved === '1' && <Done>Your choice of notices has been saved.</Done>}
      {banner}
      <Card title="Account">
        <Facts
          facts={[
            ['E-mail address', email],
            ['Name', name],
            ['Account number', accountId],
          ]}
        />
      </Card>
      {pages.mail !== 'none' && <ChangeEmail form={forms.email ?? NO_INPUT} />}
      <ChangePassword form={forms.password ?? NO_INPUT} />
      <Card title="Two-factor sign-in">
        <p>
          <a href={`${PATH}/two-factor`}>A code of an app, after the password</a>
        </p>
      </Card>
      {pages.mail !== 'none' && <NoticeSwitches off={off} />}
      <OwnData erasure={erasure} form={forms.erasure ?? NO_INPUT} />
    </Page>,
    status,
  );
}

function Done({ children }: { children: string }): VNode {
  return (
    <Notice tone="good" role="status">
      {children}
    </Notice>
  );
}

function ChangePassword({ form }: { form: FormState }): VNode {
  return (
    <Card title="Change password">
      <PostForm action={`${PATH}/password`} form={form}>
        <Field
          name="current"
          label="Current password"
          type="password"
          autocomplete="current-password"
          required
        />
        <NewPasswordField label="New password" hint="All other sessions are signed out." />
        <Submit>Change password </Submit>
      </PostForm>
    </Card>
  );
}

const NOTICES_PATH = '/account/settings/notices';

const ALL = Object.keys(TOPICS) as Topic[];

/** Registers the form that switches notices on and off. */
function registerNoticeSwitches(scope: FastifyInstance, { database }: Pages): void {
  scope.post(NOTICES_PATH, async (request: FastifyRequest, reply: FastifyReply) => {
    const chosen = readValues(request.body);
    const off = ALL.filter((topic) => chosen[topic] !== 'on');
    await setTopicsOff(database, customerOf(request).liveAccountId, off);
    return reply.redirect('/account/settings?saved=1', 303);
  });
}

function NoticeSwitches({ off }: { off: readonly Topic[] }): VNode {
  return (
    <Card title="Notices by e-mail">
      <PostForm action={NOTICES_PATH}>
        {ALL.map((topic) => (
          <p key={topic}>
            <label>
              <input type="checkbox" name={topic} checked={!off.includes(topic)} /> {TOPICS[topic]}
            </label>
          </p>
        ))}
        <p class="hint">Mails about the security of your account cannot be switched off.</p>
        <button type="submit">Save</button>
      </PostForm>
    </Card>
  );
}

const emailChange = z.object({ email: emailField, password: presentPassword });

const EMAIL_PATH = '/account/settings/email';

/** Sends a link to the new address, which takes effect when it is opened, and informs the present address. */
async function requestEmailChange(
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
    await queueMail(client, { accountId, kind: 'confirm_new_email', to: email, facts }, clock.now());
    await notify(pages, client, { accountId, kind: 'email_changing', facts: { ...facts, newEmail: email } });
  });
  return '/account/settings?sent=1';
}

function ChangeEmail({ form }: { form: FormState }): VNode {
  return (
    <Card title="Change e-mail address">
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
    </Card>
  );
}

const CONFIRM_PATH = '/account/settings/confirm-email';

/** Registers the button that sends another link to confirm the address. */
function registerSendConfirmation(scope: FastifyInstance, pages: Pages): void {
  scope.post(CONFIRM_PATH, async (request: FastifyRequest, reply: FastifyReply) => {
    const { liveAccountId: accountId } = customerOf(request);
    const retryAfterSeconds = await pages.attempts.countMail(accountId);
    if (retryAfterSeconds !== null)
      throw new SoukError('TOO_MANY_ATTEMPTS', {
        message: 'Five mails have been sent within an hour. Try again later.',
        retryAfterSeconds,
      });
    const facts = { requestId: uuid() };
    await notify(pages, pages.database, { accountId, kind: 'confirm_email', facts });
    return reply.redirect('/account/settings?sent=1', 303);
  });
}

/** The reminder to confirm the address; null if it is confirmed, or if this installation has no mails. */
export async function confirmBanner(
  { database, mail }: Pick<Pages, 'database' | 'mail'>,
  request: FastifyRequest,
): Promise<VNode | null> {
  if (mail === 'none') return null;
  const account = await findAccount(database, customerOf(request).liveAccountId);
  if (!account || account.emailConfirmedAt !== null) return null;
  return (
    <section class="notice warn row" aria-label="Confirm your address">
      <p>
        <strong>Confirm your e-mail address.</strong> Open the link in the mail to {account.email}. Notices go
        only to a confirmed address.
      </p>
      <PostButton action={CONFIRM_PATH} class="push">
        Send again
      </PostButton>
    </section>
  );
}
