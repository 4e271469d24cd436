import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { VNode } from 'preact';
import { create } from 'qrcode';
import { z } from 'zod';
import {
  beginEnrolment,
  confirmEnrolment,
  countRecoveryCodes,
  hasTwoFactor,
  removeTwoFactor,
  verifyCode,
} from '../../../accounts/two-factor.ts';
import { Field, PostForm } from '../../kit/form.tsx';
import { FormRefused, type FormState, NO_INPUT, onSubmit } from '../../kit/form-request.ts';
import { Page } from '../../kit/layout.tsx';
import { presentPassword } from '../../kit/new-password-field.tsx';
import { sendPage } from '../../kit/render.tsx';
import { Secret } from '../../kit/secret.tsx';
import { notify } from '../../notify.ts';
import type { Pages } from '../../pages.ts';
import { customerOf } from '../../session.ts';
import { refuseTooMany } from '../../visitor/attempt.ts';
import { verifyPassword } from './verify-password.ts';

const PATH = '/account/settings/two-factor';

const withPassword = z.object({ current: presentPassword });
const withCode = z.object({
  code: z
    .string({ error: 'is required' })
    .trim()
    .min(1, 'is required')
    .max(40, 'must have at most 40 characters'),
});

/** Registers the page that turns two-factor sign-in on and off. */
export function registerTwoFactor(scope: FastifyInstance, pages: Pages): void {
  const { database, clock, secretBox, attempts } = pages;

  scope.get(PATH, async (_request, reply) => showState(reply, NO_INPUT));
  scope.post(`${PATH}/begin`, onSubmit(withPassword, showState, begin));
  scope.post(`${PATH}/confirm`, onSubmit(withCode, showConfirm, confirm));
  scope.post(`${PATH}/off`, onSubmit(withCode, showState, turnOff));

  async function begin(
    { current }: z.output<typeof withPassword>,
    request: FastifyRequest,
    reply: FastifyReply,
  ): Promise<FastifyReply | string> {
    const { liveAccountId: accountId, email } = customerOf(request);
    await verifyPassword(pages, request, reply, { field: 'current', password: current });
    if (await hasTwoFactor(database, accountId)) return PATH;
    return sendPage(
      reply,
      <Enrolment {...(await beginEnrolment(database, secretBox, { accountId, email }))} />,
    );
  }

  async function confirm(
    { code }: z.output<typeof withCode>,
    request: FastifyRequest,
    reply: FastifyReply,
  ): Promise<FastifyReply> {
    const { liveAccountId: accountId } = customerOf(request);
    const attempt = await countAttempt(request, reply, accountId);
    const codes = await confirmEnrolment(database, secretBox, accountId, { code, now: clock.now() });
    if (codes === null) throw new FormRefused(400, { code: 'Incorrect code' });
    await attempts.forgive(attempt);
    await noteChange(accountId, true);
    return sendPage(reply, <RecoveryCodes codes={codes} />);
  }

  async function turnOff(
    { code }: z.output<typeof withCode>,
    request: FastifyRequest,
    reply: FastifyReply,
  ): Promise<string> {
    const { liveAccountId: accountId } = customerOf(request);
    const attempt = await countAttempt(request, reply, accountId);
    if (!(await verifyCode(database, secretBox, accountId, { code, now: clock.now() })))
      throw new FormRefused(400, { code: 'Incorrect code, or a code that was used before' });
    await attempts.forgive(attempt);
    await removeTwoFactor(database, accountId);
    await noteChange(accountId, false);
    return PATH;
  }

  async function countAttempt(request: FastifyRequest, reply: FastifyReply, accountId: number) {
    const attempt = { address: request.ip, email: `code of account ${accountId}`, isKnownDevice: true };
    refuseTooMany(pages, reply, await attempts.count(attempt));
    return attempt;
  }

  async function noteChange(accountId: number, isOn: boolean): Promise<void> {
    const facts = { at: new Date(clock.now()).toISOString(), isOn };
    await notify(pages, database, { accountId, kind: 'two_factor_changed', facts });
  }

  async function showState(reply: FastifyReply, form: FormState, status?: number): Promise<FastifyReply> {
    const { liveAccountId: accountId } = customerOf(reply.request);
    const [isOn, codes] = await Promise.all([
      hasTwoFactor(database, accountId),
      countRecoveryCodes(database, accountId),
    ]);
    return sendPage(reply, <State {...{ isOn, codes, form }} />, status);
  }
}

function State({ isOn, codes, form }: { isOn: boolean; codes: number; form: FormState }): VNode {
  return (
    <Page title="Two-factor sign-in">
      <h1>Two-factor sign-in</h1>
      <section class="card">
        {isOn ? (
          <>
            <p>
              Two-factor sign-in is on. {codes} recovery {codes === 1 ? 'code is' : 'codes are'} left.
            </p>
            <PostForm action={`${PATH}/off`} form={form}>
              <CodeField label="Code of your app, or a recovery code" />
              <button type="submit" class="danger">
                Turn off
              </button>
            </PostForm>
          </>
        ) : (
          <>
            <p>
              After your password, a code of an app on your telephone is required to sign in. API keys are not
              affected.
            </p>
            <PostForm action={`${PATH}/begin`} form={form}>
              <Field
                name="current"
                label="Current password"
                type="password"
                autocomplete="current-password"
                required
              />
              <button type="submit" class="primary">
                Set up
              </button>
            </PostForm>
          </>
        )}
      </section>
    </Page>
  );
}

function Enrolment({ uri, secret }: { uri: string; secret: string }): VNode {
  return (
    <Page title="Set up two-factor sign-in">
      <h1>Set up two-factor sign-in</h1>
      <section class="card">
        <p>Scan this code with an authenticator app, or enter the secret by hand.</p>
        <QrCode text={uri} />
        <Secret id="totp-secret" text={secret} />
        <PostForm action={`${PATH}/confirm`}>
          <CodeField label="Code that the app shows" />
          <button type="submit" class="primary">
            Turn on
          </button>
        </PostForm>
      </section>
    </Page>
  );
}

/** The page of a code that did not confirm the secret, which is not shown again. */
function showConfirm(reply: FastifyReply, form: FormState, status?: number): FastifyReply {
  return sendPage(
    reply,
    <Page title="Set up two-factor sign-in">
      <h1>Set up two-factor sign-in</h1>
      <section class="card">
        <PostForm action={`${PATH}/confirm`} form={form}>
          <CodeField label="Code that the app shows" />
          <button type="submit" class="primary">
            Turn on
          </button>
        </PostForm>
        <p>
          <a href={PATH}>Begin again</a>
        </p>
      </section>
    </Page>,
    status,
  );
}

function CodeField({ label }: { label: string }): VNode {
  return <Field name="code" label={label} autocomplete="one-time-code" required />;
}

function RecoveryCodes({ codes }: { codes: readonly string[] }): VNode {
  return (
    <Page title="Recovery codes">
      <h1>Two-factor sign-in is on</h1>
      <section class="notice good">
        <h2>Recovery codes</h2>
        <p>
          Each of these codes replaces a code of the app once. <strong>Keep them now.</strong> They are shown
          only once.
        </p>
        <Secret id="recovery-codes" text={codes.join(' ')} />
        <p>
          <a href="/account/settings">Back to the settings</a>
        </p>
      </section>
    </Page>
  );
}

const QUIET_ZONE = 4;

function QrCode({ text }: { text: string }): VNode {
  const { modules } = create(text, { errorCorrectionLevel: 'M' });
  const side = modules.size + 2 * QUIET_ZONE;
  const dark = Array.from(modules.data, (isDark, i) =>
    isDark ? `M${(i % modules.size) + QUIET_ZONE} ${Math.floor(i / modules.size) + QUIET_ZONE}h1v1h-1z` : '',
  ).join('');
  return (
    <svg
      viewBox={`0 0 ${side} ${side}`}
      width={220}
      height={220}
      role="img"
      aria-label="QR code of the secret"
    >
      <rect width={side} height={side} fill="#fff" />
      <path d={dark} fill="#000" shape-rendering="crispEdges" />
    </svg>
  );
}
