import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { VNode } from 'preact';
import { v7 as uuid } from 'uuid';
import { z } from 'zod';
import { createAccount } from '../../accounts/accounts.ts';
import { placesOf } from '../../accounts/attempts.ts';
import { networkOf } from '../../accounts/networks.ts';
import {
  findPassword,
  hashPassword,
  isPassword,
  type StoredPassword,
  setPassword,
} from '../../accounts/passwords.ts';
import { CredentialsChanged, endSession, isKnownDevice } from '../../accounts/sessions.ts';
import {
  beginPendingSignIn,
  endPendingSignIn,
  findPendingSignIn,
  hasTwoFactor,
  verifyCode,
} from '../../accounts/two-factor.ts';
import { CONSENT_PATH } from '../../api/connect/provider.ts';
import { writeAct } from '../../operator/account-audit.ts';
import { inTransaction } from '../../platform/db/transaction.ts';
import { ButtonLink } from '../kit/elements.tsx';
import {
  Field,
  HiddenFields,
  NewPasswordField,
  newPassword,
  PostForm,
  presentPassword,
  Submit,
} from '../kit/form.tsx';
import { FormRefused, type FormState, postForm, readValues } from '../kit/form-request.ts';
import { NarrowPage } from '../kit/layout.tsx';
import { sendPage } from '../kit/render.tsx';
import { CodeField, codeInput } from '../kit/two-factor.tsx';
import { counted } from '../kit/words.tsx';
import { notify, type Pages } from '../pages.ts';
import {
  clearPendingCookie,
  clearSessionCookie,
  DEVICE_COOKIE,
  PENDING_COOKIE,
  pathWithin,
  personOf,
  returnQuery,
  setPendingCookie,
  signInPerson,
} from '../session.ts';

export const emailField = z
  .string({ error: 'is required' })
  .trim()
  .toLowerCase()
  .max(254, 'must have at most 254 characters')
  .pipe(z.email('must be an e-mail address such as ann@example.com'));

const signInForm = z.object({ email: emailField, password: presentPassword, to: z.string().optional() });

/** Signing in and out. */
export function registerSignIn(scope: FastifyInstance, pages: Pages): void {
  const showForm = (reply: FastifyReply, form: FormState, status?: number) =>
    sendSignIn(pages, reply, form, status);

  scope.get<{ Querystring: { to?: string } }>('/sign-in', async (request, reply) => {
    const to = accountPath(request.query.to);
    if (request.session) return reply.redirect(to, 303);
    return showForm(reply, { values: { to }, faults: {} });
  });

  postForm(scope, '/sign-in', signInForm, showForm, async ({ email, password, to }, request, reply) => {
    const { attempts, database } = pages;
    const stored = await findPassword(database, email);
    const isKnown = stored !== null && isKnownDevice(request.cookies[DEVICE_COOKIE], stored.digest);
    const attempt = { address: request.ip, email, isKnownDevice: isKnown };
    refuseTooMany(pages, reply, await attempts.count(attempt));
    if (!(await isPassword(stored, password, placesOf(attempt))) || stored === null) throw wrongPassword();
    await attempts.forgive(attempt);
    if (await hasTwoFactor(database, stored.personId)) {
      setPendingCookie(reply, await beginPendingSignIn(database, stored, pages.clock.now()));
      return `${CODE_PATH}?to=${encodeURIComponent(accountPath(to))}`;
    }
    try {
      await finishSignIn(pages, request, reply, stored);
    } catch (error) {
      throw error instanceof CredentialsChanged ? wrongPassword() : error;
    }
    return accountPath(to);
  });
  registerSignInCode(scope, pages);

  scope.post('/sign-out', async ({ session, body }, reply) => {
    if (session) await endSession(pages.database, session.tokenHash);
    clearSessionCookie(reply);
    const { to } = readValues(body);
    return reply.redirect(to === undefined ? '/' : signInPath(to), 303);
  });
}

function wrongPassword(): FormRefused {
  return new FormRefused(401, { '': 'Incorrect e-mail address or password.' });
}

/** The path that a customer is sent to after signing in: a path of this site, never an address of another site. */
export function accountPath(to: unknown): string {
  return (
    pathWithin(to, ['account', 'admin', 'connect', 'docs', 'explore', 'invitation', 'profile']) ?? '/account'
  );
}

/** The path of the sign-in page. @param to the path to return to. */
export function signInPath(to: unknown): string {
  const path = accountPath(to);
  return path === '/account' ? '/sign-in' : `/sign-in${returnQuery(path)}`;
}

/** The path that starts signing in through the OpenID Connect provider. @param to the path to return to. */
export function singleSignOnPath(to: string): string {
  return `/sign-in/openid${returnQuery(to) || '?to='}`;
}

/** The button of the OpenID Connect provider; nothing if the settings name none. */
export function SingleSignOn({ openId, to }: Pick<Pages, 'openId'> & { to: string }): VNode | null {
  return (
    openId && (
      <p>
        <ButtonLink to={singleSignOnPath(to)}>Sign in with {openId.settings.name}</ButtonLink>
      </p>
    )
  );
}

/** Tells somebody whom a program has sent what comes next. */
function BeforeConsent({ to }: { to: string }): VNode | null {
  if (!to.startsWith(`${CONSENT_PATH}/`)) return null;
  return <p>A program asks to use your Souk account. Afterwards, you decide what it may do.</p>;
}

export function sendSignIn(
  { mail, openId }: Pick<Pages, 'mail' | 'openId'>,
  reply: FastifyReply,
  form: FormState,
  status?: number,
): FastifyReply {
  const to = accountPath(form.values.to);
  return sendPage(
    reply,
    <NarrowPage title="Sign in">
      <BeforeConsent to={to} />
      <PostForm action="/sign-in" form={form}>
        <HiddenFields fields={{ to }} />
        <EmailField autocomplete="username" />
        <Field name="password" label="Password" type="password" autocomplete="current-password" required />
        <Submit>Sign in</Submit>
      </PostForm>
      <SingleSignOn openId={openId} to={to} />
      <p>
        New here? <a href={`/sign-up?to=${encodeURIComponent(to)}`}>Create an account</a>
      </p>
      {mail !== 'none' ? (
        <p>
          <a href={`/forgot-password${returnQuery(to)}`}>Forgot your password?</a>
        </p>
      ) : (
        <p class="hint">
          Forgot your password? Ask the operator of this service for a link that sets a new one.
        </p>
      )}
    </NarrowPage>,
    status,
  );
}

const CODE_PATH = '/sign-in/code';

const codeForm = z.object({ code: codeInput, to: z.string().optional() });

/** Registers the second step of signing in to an account with a second factor: a code after the password. */
function registerSignInCode(scope: FastifyInstance, pages: Pages): void {
  const { database, clock, attempts, secretBox } = pages;

  scope.get<{ Querystring: { to?: string } }>(CODE_PATH, async (request, reply) =>
    (await pendingOf(request)) === null
      ? reply.redirect(signInPath(request.query.to), 303)
      : sendCodeForm(reply, { values: { to: request.query.to }, faults: {} }),
  );
  postForm(scope, CODE_PATH, codeForm, sendCodeForm, async ({ code, to }, request, reply) => {
    const pending = await pendingOf(request);
    if (pending === null) return signInPath(to);
    const { personId } = pending;
    // Counted for the person from everywhere: the visitor knows the password.
    const attempt = { address: request.ip, email: `code of person ${personId}`, isKnownDevice: true };
    refuseTooMany(pages, reply, await attempts.count(attempt));
    if (!(await verifyCode(database, secretBox, personId, { code, now: clock.now() })))
      throw new FormRefused(401, { code: 'Incorrect code, or a code that was used before' });
    await attempts.forgive(attempt);
    await endPendingSignIn(database, request.cookies[PENDING_COOKIE] ?? '');
    clearPendingCookie(reply);
    try {
      await finishSignIn(pages, request, reply, { ...pending, hasCode: true });
    } catch (error) {
      if (error instanceof CredentialsChanged) return signInPath(to);
      throw error;
    }
    return accountPath(to);
  });

  function pendingOf({ cookies }: FastifyRequest) {
    const token = cookies[PENDING_COOKIE];
    return token ? findPendingSignIn(database, token, clock.now()) : Promise.resolve(null);
  }
}

function sendCodeForm(reply: FastifyReply, form: FormState, status?: number): FastifyReply {
  return sendPage(
    reply,
    <NarrowPage title="Sign in" heading="Enter your code">
      <PostForm action={CODE_PATH} form={form}>
        <HiddenFields fields={{ to: form.values.to }} />
        <CodeField label="Code" hint="The six digits that your app shows, or a recovery code" />
        <Submit>Sign in</Submit>
      </PostForm>
      <p class="hint">
        Without the app and the recovery codes, ask the operator of this service to turn two-factor sign-in
        off.
      </p>
    </NarrowPage>,
    status,
  );
}

/** Starts the session of a person, and informs the person if the browser has not signed in before with the present password. @throws CredentialsChanged. */
async function finishSignIn(
  pages: Pages,
  request: FastifyRequest,
  reply: FastifyReply,
  stored: StoredPassword & { hasCode?: boolean },
): Promise<void> {
  const isKnown = isKnownDevice(request.cookies[DEVICE_COOKIE], stored.digest);
  await signInPerson(pages, request, reply, stored);
  if (!isKnown) await informOfSignIn(pages, request, stored.personId);
}

/** Informs a person of a sign-in in a browser that is not known. */
export async function informOfSignIn(pages: Pages, request: FastifyRequest, personId: number): Promise<void> {
  const facts = {
    at: new Date(pages.clock.now()).toISOString(),
    network: networkOf(request.ip),
    browser: (request.headers['user-agent'] ?? 'unknown').slice(0, 200),
  };
  await writeAct(pages.database, personId, { accountId: null, action: 'person.signed-in' });
  await notify(pages, pages.database, { personId, kind: 'new_sign_in', facts });
}

export const accountName = z
  .string({ error: 'is required' })
  .trim()
  .min(1, 'is required')
  .max(100, 'must have at most 100 characters');

const signUpForm = z.object({
  email: emailField,
  name: accountName,
  password: newPassword,
  to: z.string().optional(),
});

/** Registers the sign-up page. */
export function registerSignUp(scope: FastifyInstance, pages: Pages): void {
  const { database, clock } = pages;
  const showForm = (reply: FastifyReply, form: FormState, status?: number) =>
    sendSignUp(pages, reply, form, status);

  scope.get<{ Querystring: { to?: string } }>('/sign-up', async (request, reply) => {
    if (request.session) return reply.redirect(accountPath(request.query.to), 303);
    return showForm(reply, { values: { to: request.query.to }, faults: {} });
  });

  postForm(scope, '/sign-up', signUpForm, showForm, async (input, request, reply) => {
    const { email, name, password, to } = input;
    refuseTooMany(pages, reply, await pages.attempts.countSignUp(request.ip));
    const digest = await hashPassword(password);
    const account = await inTransaction(database, async (client) => {
      const created = await createAccount(client, email, name, clock.now());
      if (!created) return null;
      await setPassword(client, created.ownerId, digest, clock.now());
      const facts = { requestId: uuid() };
      await notify(pages, client, { personId: created.ownerId, kind: 'confirm_email', facts });
      await writeAct(client, created.ownerId, { accountId: created.id, action: 'account.created' });
      return created;
    });
    if (!account) throw new FormRefused(409, { email: 'already has an account: sign in instead' });
    await signInPerson(pages, request, reply, { personId: account.ownerId, digest });
    return accountPath(to);
  });
}

function sendSignUp({ openId }: Pages, reply: FastifyReply, form: FormState, status?: number): FastifyReply {
  const to = accountPath(form.values.to);
  return sendPage(
    reply,
    <NarrowPage title="Sign up" heading="Create an account">
      <BeforeConsent to={to} />
      <PostForm action="/sign-up" form={form}>
        <HiddenFields fields={{ to }} />
        <EmailField autocomplete="email" />
        <Field name="name" label="Name or company" autocomplete="name" required maxLength={100} />
        <NewPasswordField label="Password" />
        <Submit>Create account</Submit>
      </PostForm>
      <SingleSignOn openId={openId} to={to} />
      <p>
        Already have an account? <a href={`/sign-in?to=${encodeURIComponent(to)}`}>Sign in</a>
      </p>
    </NarrowPage>,
    status,
  );
}

/** Refuses an attempt to sign in or to sign up. @param waitSeconds null: it is allowed. @throws FormRefused. */
export function refuseTooMany(
  { events }: Pick<Pages, 'events'>,
  reply: FastifyReply,
  waitSeconds: number | null,
): void {
  if (waitSeconds === null) return;
  events.emit({ type: 'request.refused', error: 'TOO_MANY_ATTEMPTS' });
  reply.header('retry-after', waitSeconds);
  const minutes = Math.ceil(waitSeconds / 60);
  throw new FormRefused(429, { '': `Too many attempts. Try again in ${counted(minutes, 'minute')}.` });
}

export function EmailField({ autocomplete }: { autocomplete: 'username' | 'email' | 'off' }): VNode {
  return <Field name="email" label="E-mail address" type="email" autocomplete={autocomplete} required />;
}

/** Verifies the password of the signed-in person. @param field of the form. @throws FormRefused. */
export async function verifyPassword(
  pages: Pages,
  request: FastifyRequest,
  reply: FastifyReply,
  { field, password }: { field: string; password: string },
): Promise<StoredPassword> {
  const { email, personId } = personOf(request);
  const attempt = { address: request.ip, email, isKnownDevice: true };
  refuseTooMany(pages, reply, await pages.attempts.count(attempt));
  const stored = await findPassword(pages.database, email);
  if (!(await isPassword(stored, password, placesOf(attempt))) || stored?.personId !== personId)
    throw new FormRefused(400, { [field]: 'Incorrect password' });
  await pages.attempts.forgive(attempt);
  return stored;
}
