import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { v7 as uuid } from 'uuid';
import { z } from 'zod';
import { addressFor } from '../../accounts/account-address.ts';
import { personOfReset, resetPassword } from '../../accounts/passwords.ts';
import { confirmEmailByToken, emailOfConfirmation } from '../../accounts/people.ts';
import { writeAct } from '../../operator/account-audit.ts';
import { readUnsubscribeToken, switchOff } from '../../outbox/mail/choices.ts';
import { TOPICS } from '../../outbox/mail/kinds/content.ts';
import { queueMail } from '../../outbox/mail/mails.ts';
import { SoukError } from '../../platform/errors.ts';
import { HiddenFields, NewPasswordField, newPassword, PostForm, Submit } from '../kit/form.tsx';
import { type FormState, postForm, readForm, readValues } from '../kit/form-request.ts';
import { NarrowPage } from '../kit/layout.tsx';
import { sendPage } from '../kit/render.tsx';
import { notify, type Pages } from '../pages.ts';
import { COOKIE_OPTIONS, clearSessionCookie } from '../session.ts';
import { accountPath, EmailField, emailField, refuseTooMany, signInPath } from './sign-in.tsx';

const CONFIRM_PATH = '/confirm-email';

/** The token of a link in a mail. */
const tokenField = z.string().regex(/^[\w-]{43}$/);

const confirmation = z.object({ token: tokenField });

/** Registers the page on which a link from a mail confirms an address. Programs that only open links confirm nothing. */
export function registerConfirmEmail(scope: FastifyInstance, pages: Pages): void {
  const { database, clock } = pages;
  scope.get(CONFIRM_PATH, async (request, reply) => {
    const token = tokenIn(request.query);
    const email = await emailOfConfirmation(database, token, clock.now());
    if (email === null) throw confirmationSpent();
    return sendPage(
      reply,
      <NarrowPage title="Confirm the address">
        <p>
          Confirm that <strong>{email}</strong> is your e-mail address.
        </p>
        <PostForm action={CONFIRM_PATH}>
          <HiddenFields fields={{ token }} />
          <Submit>Confirm</Submit>
        </PostForm>
      </NarrowPage>,
    );
  });
  scope.post(CONFIRM_PATH, async (request, reply) => {
    const isConfirmed = await confirmEmailByToken(
      database,
      tokenIn(request.body),
      clock.now(),
      (client, personId) => writeAct(client, personId, { accountId: null, action: 'person.email-confirmed' }),
    );
    if (!isConfirmed) throw confirmationSpent();
    return reply.redirect('/account', 303);
  });
}

function tokenIn(values: unknown): string {
  const form = readForm(confirmation, values);
  if (!form.ok) throw confirmationSpent();
  return form.input.token;
}

function confirmationSpent(): SoukError {
  return new SoukError('NOT_FOUND', {
    message: 'This link has been used or has expired. Request a new one on your profile.',
  });
}

const FORGOT_PATH = '/forgot-password';

const forgotForm = z.object({ email: emailField, to: z.string().optional() });

/** The cookie with the path to which a browser returns that has asked for a link to a new password. */
const RETURN_COOKIE = 'souk_return';
const RETURN_SECONDS = 3_600;

/**
 * Registers the page that requests a link to a new password. Its answer is the same for an address without an account, and
 * takes as long: a worker finds the account later.
 */
export function registerForgotPassword(scope: FastifyInstance, pages: Pages): void {
  const { database, clock, attempts } = pages;
  if (pages.mail === 'none') return;

  scope.get<{ Querystring: { sent?: string; to?: string } }>(FORGOT_PATH, async (request, reply) =>
    request.query.sent === '1'
      ? showSent(reply)
      : sendForgotForm(reply, { values: { to: request.query.to }, faults: {} }),
  );

  postForm(scope, FORGOT_PATH, forgotForm, sendForgotForm, async ({ email, to }, { ip }, reply) => {
    refuseTooMany(pages, reply, await attempts.countForgotten(ip, email));
    const facts = { requestId: uuid() };
    const mail = { accountId: null, kind: 'reset_password', to: email, facts } as const;
    await queueMail(database, mail, clock.now());
    const options = { ...COOKIE_OPTIONS, maxAge: RETURN_SECONDS };
    if (to !== undefined) reply.setCookie(RETURN_COOKIE, accountPath(to), options);
    return `${FORGOT_PATH}?sent=1`;
  });
}

function sendForgotForm(reply: FastifyReply, form: FormState, status?: number): FastifyReply {
  return sendPage(
    reply,
    <NarrowPage title="Forgot password">
      <p>Enter your e-mail address. You receive a link that sets a new password.</p>
      <PostForm action={FORGOT_PATH} form={form}>
        <HiddenFields fields={{ to: form.values.to }} />
        <EmailField autocomplete="username" />
        <Submit>Send the link</Submit>
      </PostForm>
    </NarrowPage>,
    status,
  );
}

function showSent(reply: FastifyReply): FastifyReply {
  return sendPage(
    reply,
    <NarrowPage title="Forgot password" heading="Check your mail">
      <p role="status">
        If the address has an account, a link is on its way. It works once, within an hour. If no mail
        arrives, check your spam folder, or try again.
      </p>
    </NarrowPage>,
  );
}

const reset = z.object({ token: tokenField, password: newPassword });

/** Registers the page on which a link from a mail or from the operator sets a new password. */
export function registerResetPassword(scope: FastifyInstance, pages: Pages): void {
  const { database, clock } = pages;

  scope.get<{ Querystring: { token?: string } }>('/reset-password', async (request, reply) =>
    showForm(reply, { values: { token: request.query.token }, faults: {} }),
  );

  postForm(scope, '/reset-password', reset, showForm, async ({ token, password }, request, reply) => {
    // Checked first, so that an invalid link does not cost a password hash.
    const email = await emailOf(pages, token);
    const attempt = { address: request.ip, email: `reset link of ${email}`, isKnownDevice: true };
    refuseTooMany(pages, reply, await pages.attempts.count(attempt));
    const now = clock.now();
    const facts = { at: new Date(now).toISOString() };
    const isSet = await resetPassword(database, token, password, now, async (client, personId) => {
      await writeAct(client, personId, { accountId: null, action: 'person.password-reset' });
      await notify(pages, client, { personId, kind: 'password_changed', facts });
    });
    if (!isSet) throw resetSpent();
    clearSessionCookie(reply);
    reply.clearCookie(RETURN_COOKIE, COOKIE_OPTIONS);
    return signInPath(request.cookies[RETURN_COOKIE]);
  });

  async function showForm(reply: FastifyReply, form: FormState, status?: number): Promise<FastifyReply> {
    const { token } = form.values;
    const email = await emailOf(pages, token);
    return sendPage(
      reply,
      <NarrowPage title="New password">
        <p>
          For <strong>{email}</strong>. All your sessions will be signed out.
        </p>
        <PostForm action="/reset-password" form={form}>
          <HiddenFields fields={{ token }} />
          <NewPasswordField label="New password" />
          <Submit>Set password</Submit>
        </PostForm>
      </NarrowPage>,
      status,
    );
  }
}

async function emailOf({ database, clock }: Pages, token: unknown): Promise<string> {
  const parsed = tokenField.safeParse(token);
  const email = parsed.success ? await personOfReset(database, parsed.data, clock.now()) : null;
  if (email === null) throw resetSpent();
  return email;
}

function resetSpent(): SoukError {
  return new SoukError('NOT_FOUND', {
    message: 'This link has been used or has expired. Request a new one.',
  });
}

const UNSUBSCRIBE_PATH = '/unsubscribe';

/**
 * Registers the page behind the link that switches off notices of a topic (RFC 8058). A GET shows a button, because mail
 * programs open links by themselves. A POST needs no form token and no session, because mail providers send it.
 */
export function registerUnsubscribe(scope: FastifyInstance, { database }: Pages): void {
  // Mail providers send a form of either type; the token is in the address.
  scope.removeAllContentTypeParsers();
  scope.addContentTypeParser('*', { parseAs: 'string', bodyLimit: 4_096 }, (_request, _body, done) => {
    done(null, null);
  });

  scope.get(UNSUBSCRIBE_PATH, async (request, reply) => {
    const { topic, token } = await choiceIn(request);
    return sendPage(
      reply,
      <NarrowPage title="Switch off notices">
        <p>{TOPICS[topic]}</p>
        <form method="post" action={`${UNSUBSCRIBE_PATH}?token=${token}`}>
          <Submit>Switch off</Submit>
        </form>
      </NarrowPage>,
    );
  });

  scope.post(UNSUBSCRIBE_PATH, async (request, reply): Promise<FastifyReply> => {
    const { topic, ...member } = await choiceIn(request);
    await switchOff(database, member, topic);
    return sendPage(
      reply,
      <NarrowPage title="Notices switched off" heading="Switched off">
        <p role="status">You no longer receive these mails. {TOPICS[topic]}.</p>
        <p>
          You can switch them on again in the{' '}
          <a href={addressFor(member.accountId, '/account/settings')}>settings</a>.
        </p>
      </NarrowPage>,
    );
  });

  async function choiceIn({ query }: FastifyRequest) {
    const { token = '' } = readValues(query);
    const read = await readUnsubscribeToken(database, token);
    if (read === null)
      throw new SoukError('NOT_FOUND', {
        message:
          'This link is not valid. Open it again from the mail, or change your notices in the settings.',
      });
    return { ...read, token };
  }
}
