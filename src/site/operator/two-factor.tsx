import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { VNode } from 'preact';
import { z } from 'zod';
import { readOperatorTwoFactor } from '../../accounts/operator-two-factor.ts';
import { newTotpSecret, totpUri } from '../../accounts/two-factor-codes.ts';
import { twoFactorActs } from '../../operator/acts/two-factor-acts.ts';
import { HiddenFields, PostForm } from '../kit/form.tsx';
import { FormRefused, type FormState, NO_INPUT, onSubmit } from '../kit/form-request.ts';
import { Page } from '../kit/layout.tsx';
import { sendPage } from '../kit/render.tsx';
import { CodeField, codeInput, RecoveryCodes, SecretForApp } from '../kit/two-factor.tsx';
import { operatingOf, type Pages } from '../pages.ts';
import { refuseTooMany } from '../visitor/attempt.ts';
import { CODE_ATTEMPT } from './sign-in-code.tsx';

const PATH = '/admin/two-factor';

const secretInput = z.string().regex(/^[A-Z2-7]{32}$/);
const withSecret = z.object({ secret: secretInput, code: codeInput });
const withCode = z.object({ code: codeInput });

/** Registers the page that turns two-factor sign-in of the operator on and off. */
export function registerOperatorTwoFactor(scope: FastifyInstance, pages: Pages): void {
  const { database, secretBox, attempts } = pages;

  scope.get(PATH, async (_request, reply) => showState(reply, NO_INPUT));
  scope.post(`${PATH}/on`, onSubmit(withSecret, showState, turnOn));
  scope.post(`${PATH}/off`, onSubmit(withCode, showState, turnOff));

  async function turnOn(
    input: z.output<typeof withSecret>,
    request: FastifyRequest,
    reply: FastifyReply,
  ): Promise<FastifyReply | string> {
    if ((await readOperatorTwoFactor(database)).isOn) return PATH;
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
    return PATH;
  }

  async function showState(reply: FastifyReply, form: FormState, status?: number): Promise<FastifyReply> {
    const { isOn, recoveryCodes } = await readOperatorTwoFactor(database);
    return sendPage(
      reply,
      <Page title="Two-factor sign-in">
        <h1>Two-factor sign-in</h1>
        <section class="card">
          {isOn ? <TurnOff left={recoveryCodes} form={form} /> : <TurnOn form={form} />}
        </section>
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
      <PostForm action={`${PATH}/on`} form={form}>
        <HiddenFields fields={{ secret }} />
        <CodeField label="Code that the app shows" />
        <button type="submit" class="primary">
          Turn on
        </button>
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
      <PostForm action={`${PATH}/off`} form={form}>
        <CodeField label="Code of your app, or a recovery code" />
        <button type="submit" class="danger">
          Turn off
        </button>
      </PostForm>
    </>
  );
}
