import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { VNode } from 'preact';
import { z } from 'zod';
import {
  beginEnrolment,
  confirmEnrolment,
  countRecoveryCodes,
  hasTwoFactor,
  removeTwoFactor,
  verifyCode,
} from '../../accounts/two-factor.ts';
import { Card } from '../kit/elements.tsx';
import { CurrentPassword, PostForm, presentPassword, Submit } from '../kit/form.tsx';
import { FormRefused, type FormState, NO_INPUT, postForm } from '../kit/form-request.ts';
import { Page } from '../kit/layout.tsx';
import { sendPage } from '../kit/render.tsx';
import { CodeField, codeInput, RecoveryCodes, SecretForApp } from '../kit/two-factor.tsx';
import { notify, type Pages } from '../pages.ts';
import { personOf } from '../session.ts';
import { refuseTooMany, verifyPassword } from '../visitor/sign-in.tsx';

const PATH = '/profile/two-factor';

const withPassword = z.object({ current: presentPassword });
const withCode = z.object({ code: codeInput });

/** Registers the page that turns two-factor sign-in on and off. */
export function registerTwoFactor(scope: FastifyInstance, pages: Pages): void {
  const { database, clock, secretBox, attempts } = pages;

  scope.get(PATH, async (_request, reply) => showState(reply, NO_INPUT));
  postForm(scope, `${PATH}/begin`, withPassword, showState, async ({ current }, request, reply) => {
    const { personId, email } = personOf(request);
    await verifyPassword(pages, request, reply, { field: 'current', password: current });
    if (await hasTwoFactor(database, personId)) return PATH;
    return sendEnrolment(
      reply,
      NO_INPUT,
      200,
      await beginEnrolment(database, secretBox, { personId, email }),
    );
  });
  postForm(scope, `${PATH}/confirm`, withCode, sendEnrolment, async ({ code }, request, reply) => {
    const { personId, tokenHash: session } = personOf(request);
    const attempt = await countAttempt(request, reply, personId);
    const given = { code, now: clock.now(), session };
    const codes = await confirmEnrolment(database, secretBox, personId, given);
    if (codes === null) throw new FormRefused(400, { code: 'Incorrect code' });
    await attempts.forgive(attempt);
    await noteChange(personId, true);
    return sendPage(reply, <RecoveryCodes codes={codes} back={['/profile', 'Back to the profile']} />);
  });
  postForm(scope, `${PATH}/off`, withCode, showState, async ({ code }, request, reply) => {
    const { personId } = personOf(request);
    const attempt = await countAttempt(request, reply, personId);
    if (!(await verifyCode(database, secretBox, personId, { code, now: clock.now() })))
      throw new FormRefused(400, { code: 'Incorrect code, or a code that was used before' });
    await attempts.forgive(attempt);
    await removeTwoFactor(database, personId);
    await noteChange(personId, false);
    return PATH;
  });

  async function countAttempt(request: FastifyRequest, reply: FastifyReply, personId: number) {
    const attempt = { address: request.ip, email: `code of person ${personId}`, isKnownDevice: true };
    refuseTooMany(pages, reply, await attempts.count(attempt));
    return attempt;
  }

  async function noteChange(personId: number, isOn: boolean): Promise<void> {
    const facts = { at: new Date(clock.now()).toISOString(), isOn };
    await notify(pages, database, { personId, kind: 'two_factor_changed', facts });
  }

  async function showState(reply: FastifyReply, form: FormState, status?: number): Promise<FastifyReply> {
    const { personId } = personOf(reply.request);
    const [isOn, codes] = await Promise.all([
      hasTwoFactor(database, personId),
      countRecoveryCodes(database, personId),
    ]);
    return sendPage(reply, <State isOn={isOn} codes={codes} form={form} />, status);
  }
}

function State({ isOn, codes, form }: { isOn: boolean; codes: number; form: FormState }): VNode {
  return (
    <Page title="Two-factor sign-in">
      <Card>
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
              With two-factor sign-in, you enter a code from an authenticator app after your password. API
              keys are not affected.
            </p>
            <PostForm action={`${PATH}/begin`} form={form}>
              <CurrentPassword name="current" />
              <Submit>Set up</Submit>
            </PostForm>
          </>
        )}
      </Card>
    </Page>
  );
}

/** @param enrolment the secret, which is not shown again after a code that did not confirm it. */
function sendEnrolment(
  reply: FastifyReply,
  form: FormState,
  status?: number,
  enrolment: { uri: string; secret: string } | null = null,
): FastifyReply {
  return sendPage(
    reply,
    <Page title="Set up two-factor sign-in">
      <Card>
        {enrolment && <SecretForApp {...enrolment} />}
        <PostForm action={`${PATH}/confirm`} form={form}>
          <CodeField label="Code that the app shows" />
          <Submit>Turn on</Submit>
        </PostForm>
        {!enrolment && (
          <p>
            <a href={PATH}>Start again</a>
          </p>
        )}
      </Card>
    </Page>,
    status,
  );
}
