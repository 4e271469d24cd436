import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { VNode } from 'preact';
import { z } from 'zod';
import {
  createTokenMatch,
  credentialOf,
  isOperatorPending,
  OPERATOR_DEVICE_COOKIE,
  type OperatorGuard,
  operatorPendingToken,
  readOperatorTwoFactor,
} from '../../accounts/operator-sign-in.ts';
import { endSession, findSession } from '../../accounts/sessions.ts';
import { newTotpSecret, totpUri } from '../../accounts/two-factor.ts';
import { sessionActs, twoFactorActs } from '../../operator/acts/account-acts.ts';
import { writeRefusal } from '../../operator/audit.ts';
import { Card } from '../kit/elements.tsx';
import { Field, HiddenFields, PostForm, Submit } from '../kit/form.tsx';
import { FormRefused, type FormState, NO_INPUT, onSubmit } from '../kit/form-request.ts';
import { NarrowPage, Page } from '../kit/layout.tsx';
import { sendPage } from '../kit/render.tsx';
import { CodeField, codeInput, RecoveryCodes, SecretForApp } from '../kit/two-factor.tsx';
import { operatingOf, type Pages } from '../pages.ts';
import {
  clearPendingCookie,
  clearSessionCookie,
  PENDING_COOKIE,
  pathWithin,
  rememberDevice,
  SESSION_COOKIES,
  setPendingCookie,
  setSessionCookie,
} from '../session.ts';
import { refuseTooMany } from '../visitor/sign-in.tsx';

const tokenForm = z.object({
  token: z
    .string({ error: 'is required' })
    .trim()
    .min(1, 'is required')
    .max(1_000, 'must have at most 1,000 characters'),
  to: z.string().optional(),
});

/** Registers signing in to the operator console and signing out. */
export function registerOperatorSignIn(
  scope: FastifyInstance,
  pages: Pages,
  { adminToken, guard }: { adminToken: string; guard: OperatorGuard },
): void {
  const { database, clock } = pages;
  const isToken = createTokenMatch(adminToken);

  scope.get<{ Querystring: { to?: string } }>('/admin/sign-in', async (request, reply) => {
    const { to } = request.query;
    if (request.session) return reply.redirect(consolePath(to), 303);
    return sendTokenForm(reply, { values: { to }, faults: {} });
  });
  scope.post('/admin/sign-in', onSubmit(tokenForm, sendTokenForm, signIn));
  scope.post('/admin/sign-out', signOut);

  async function signIn(
    { token, to }: z.output<typeof tokenForm>,
    request: FastifyRequest,
    reply: FastifyReply,
  ): Promise<string> {
    const device = request.cookies[OPERATOR_DEVICE_COOKIE];
    const guess = { address: request.ip, device, isRight: isToken(token) };
    const { isRight, waitSeconds } = await guard.judge(guess);
    refuseTooMany(pages, reply, waitSeconds);
    if (!isRight) throw new FormRefused(401, { token: 'Incorrect token' });
    const session = await sessionActs.begin(operatingOf(pages, request), credentialOf(adminToken));
    if (session === null) {
      setPendingCookie(reply, operatorPendingToken(adminToken, clock.now()));
      return `${OPERATOR_CODE_PATH}?to=${encodeURIComponent(consolePath(to))}`;
    }
    openConsole(reply, session, adminToken);
    return consolePath(to);
  }

  async function signOut(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
    if (request.session) await sessionActs.end(operatingOf(pages, request), request.session.tokenHash);
    clearSessionCookie(reply, 'operator');
    // Ends the operator's session on a customer's pages as well.
    const cookie = request.cookies[SESSION_COOKIES.customer];
    const viewing = cookie ? await findSession(database, cookie, clock.now()) : null;
    if (viewing?.kind === 'customer' && viewing.isOperator) {
      await endSession(database, viewing.tokenHash);
      clearSessionCookie(reply, 'customer');
    }
    return reply.redirect('/admin/sign-in', 303);
  }
}

function sendTokenForm(reply: FastifyReply, form: FormState, status?: number): FastifyReply {
  return sendPage(
    reply,
    <NarrowPage title="Operator console">
      <PostForm action="/admin/sign-in" form={form}>
        <HiddenFields fields={{ to: consolePath(form.values.to) }} />
        <Field
          name="token"
          label="Operator token"
          type="password"
          autocomplete="current-password"
          required
          hint="The value of the setting ADMIN_TOKEN of this installation."
        />
        <Submit>Sign in</Submit>
      </PostForm>
      <p>
        <a href="/sign-in">Sign in as a customer</a>
      </p>
    </NarrowPage>,
    status,
  );
}

const OPERATOR_CODE_PATH = '/admin/sign-in/code';

/** The operator's codes are counted from everywhere: who enters one knows the token. */
const CODE_ATTEMPT = { address: '', email: 'code of the operator', isKnownDevice: true } as const;

const codeForm = z.object({ code: codeInput, to: z.string().optional() });

/** Registers the second step of signing in to the console while two-factor sign-in is on: a code after the token. */
export function registerOperatorCode(scope: FastifyInstance, pages: Pages, adminToken: string): void {
  const { database, clock, attempts, secretBox } = pages;

  scope.get<{ Querystring: { to?: string } }>(OPERATOR_CODE_PATH, async (request, reply) => {
    const { to } = request.query;
    if (request.session) return reply.redirect(consolePath(to), 303);
    if (!isPending(request)) return reply.redirect('/admin/sign-in', 303);
    return sendCodeForm(reply, { values: { to }, faults: {} });
  });
  scope.post(OPERATOR_CODE_PATH, onSubmit(codeForm, sendCodeForm, submitCode));

  async function submitCode(
    { code, to }: z.output<typeof codeForm>,
    request: FastifyRequest,
    reply: FastifyReply,
  ): Promise<string> {
    if (!isPending(request) || !(await readOperatorTwoFactor(database)).isOn) return '/admin/sign-in';
    refuseTooMany(pages, reply, await attempts.count(CODE_ATTEMPT));
    const by = operatingOf(pages, request);
    const session = await sessionActs.beginWithCode(by, credentialOf(adminToken), { secretBox, code });
    if (session === null) {
      await writeRefusal(database, request.ip, 'code');
      throw new FormRefused(401, { code: 'Incorrect code, or a code that was used before' });
    }
    await attempts.forgive(CODE_ATTEMPT);
    clearPendingCookie(reply);
    openConsole(reply, session, adminToken);
    return consolePath(to);
  }

  function isPending({ cookies }: FastifyRequest): boolean {
    return isOperatorPending(cookies[PENDING_COOKIE], adminToken, clock.now());
  }
}

/** Gives the browser a new session of the console. */
function openConsole(reply: FastifyReply, session: string, adminToken: string): void {
  setSessionCookie(reply, 'operator', session);
  rememberDevice(reply, OPERATOR_DEVICE_COOKIE, adminToken);
}

/** A path of the operator console, never an address of another site. */
function consolePath(to: unknown): string {
  return pathWithin(to, ['admin']) ?? '/admin';
}

function sendCodeForm(reply: FastifyReply, form: FormState, status?: number): FastifyReply {
  return sendPage(
    reply,
    <NarrowPage title="Operator console" heading="Enter your code">
      <PostForm action={OPERATOR_CODE_PATH} form={form}>
        <HiddenFields fields={{ to: consolePath(form.values.to) }} />
        <CodeField label="Code" hint="The six digits that your app shows, or a recovery code" />
        <Submit>Sign in</Submit>
      </PostForm>
      <p class="hint">
        Without the app and the recovery codes, run <code>souk operator reset2fa</code> on the server.
      </p>
    </NarrowPage>,
    status,
  );
}

const TWO_FACTOR_PATH = '/admin/two-factor';

const secretInput = z.string().regex(/^[A-Z2-7]{32}$/);
const withSecret = z.object({ secret: secretInput, code: codeInput });
const withCode = z.object({ code: codeInput });

/** Registers the page that turns two-factor sign-in of the operator on and off. */
export function registerOperatorTwoFactor(scope: FastifyInstance, pages: Pages): void {
  const { database, secretBox, attempts } = pages;

  scope.get(TWO_FACTOR_PATH, async (_request, reply) => showState(reply, NO_INPUT));
  scope.post(`${TWO_FACTOR_PATH}/on`, onSubmit(withSecret, showState, turnOn));
  scope.post(`${TWO_FACTOR_PATH}/off`, onSubmit(withCode, showState, turnOff));

  async function turnOn(
    input: z.output<typeof withSecret>,
    request: FastifyRequest,
    reply: FastifyReply,
  ): Promise<FastifyReply | string> {
    if ((await readOperatorTwoFactor(database)).isOn) return TWO_FACTOR_PATH;
    const tokenHash = request.session?.tokenHash ?? Buffer.alloc(0);
    const given = { ...input, secretBox, tokenHash };
    const codes = await twoFactorActs.add(operatingOf(pages, request), given);
    if (codes === null) throw new FormRefused(400, { code: 'Incorrect code' });
    return sendPage(reply, <RecoveryCodes codes={codes} back={['/admin', 'Back to the console']} />);
  }

  async function turnOff(
    { code }: z.output<typeof withCode>,
    request: FastifyRequest,
    reply: FastifyReply,
  ): Promise<string> {
    refuseTooMany(pages, reply, await attempts.count(CODE_ATTEMPT));
    if (!(await twoFactorActs.remove(operatingOf(pages, request), { secretBox, code })))
      throw new FormRefused(400, { code: 'Incorrect code, or a code that was used before' });
    await attempts.forgive(CODE_ATTEMPT);
    return TWO_FACTOR_PATH;
  }

  async function showState(reply: FastifyReply, form: FormState, status?: number): Promise<FastifyReply> {
    const { isOn, recoveryCodes } = await readOperatorTwoFactor(database);
    return sendPage(
      reply,
      <Page title="Two-factor sign-in">
        <Card>{isOn ? <TurnOff left={recoveryCodes} form={form} /> : <TurnOn form={form} />}</Card>
      </Page>,
      status,
    );
  }
}

/** Shows a new secret, or the one of a form that was refused. It is stored when a code has confirmed it. */
function TurnOn({ form }: { form: FormState }): VNode {
  const secret = secretInput.safeParse(form.values.secret).data ?? newTotpSecret();
  return (
    <>
      <p>
        After the operator token, a code of an app on your telephone is required to sign in. All who hold the
        token share the app's secret.
      </p>
      <SecretForApp uri={totpUri(secret, 'operator')} secret={secret} />
      <PostForm action={`${TWO_FACTOR_PATH}/on`} form={form}>
        <HiddenFields fields={{ secret }} />
        <CodeField label="Code that the app shows" />
        <Submit>Turn on</Submit>
      </PostForm>
    </>
  );
}

function TurnOff({ left, form }: { left: number; form: FormState }): VNode {
  return (
    <>
      <p>
        Two-factor sign-in is on. {left} recovery {left === 1 ? 'code is' : 'codes are'} left.
      </p>
      <PostForm action={`${TWO_FACTOR_PATH}/off`} form={form}>
        <CodeField label="Code of your app, or a recovery code" />
        <button type="submit" class="danger">
          Turn off
        </button>
      </PostForm>
    </>
  );
}
