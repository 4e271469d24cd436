import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { isOperatorPending } from '../../accounts/operator-pending.ts';
import { OPERATOR_DEVICE_COOKIE } from '../../accounts/operator-session.ts';
import { credentialOf } from '../../accounts/operator-token.ts';
import { readOperatorTwoFactor } from '../../accounts/operator-two-factor.ts';
import { sessionActs } from '../../operator/acts/session-acts.ts';
import { writeRefusal } from '../../operator/audit/audit-log.ts';
import { HiddenFields, PostForm } from '../kit/form.tsx';
import { FormRefused, type FormState, onSubmit } from '../kit/form-request.ts';
import { Page, VISITOR } from '../kit/layout.tsx';
import { pathWithin } from '../kit/path-within.ts';
import { sendPage } from '../kit/render.tsx';
import { CodeField, codeInput } from '../kit/two-factor.tsx';
import { operatingOf, type Pages } from '../pages.ts';
import { clearPendingCookie, PENDING_COOKIE, rememberDevice, setSessionCookie } from '../session.ts';
import { refuseTooMany } from '../visitor/attempt.ts';

export const OPERATOR_CODE_PATH = '/admin/sign-in/code';

/** The operator's codes are counted from everywhere: who enters one knows the token. */
export const CODE_ATTEMPT = { address: '', email: 'code of the operator', isKnownDevice: true } as const;

const schema = z.object({ code: codeInput, to: z.string().optional() });

/** Registers the second step of signing in to the console while two-factor sign-in is on: a code after the token. */
export function registerOperatorCode(scope: FastifyInstance, pages: Pages, adminToken: string): void {
  const { database, clock, attempts, secretBox } = pages;

  scope.get<{ Querystring: { to?: string } }>(OPERATOR_CODE_PATH, async (request, reply) => {
    const { to } = request.query;
    if (request.session) return reply.redirect(consolePath(to), 303);
    if (!isPending(request)) return reply.redirect('/admin/sign-in', 303);
    return showForm(reply, { values: { to }, faults: {} });
  });
  scope.post(OPERATOR_CODE_PATH, onSubmit(schema, showForm, submitCode));

  async function submitCode(
    { code, to }: z.output<typeof schema>,
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
export function openConsole(reply: FastifyReply, session: string, adminToken: string): void {
  setSessionCookie(reply, 'operator', session);
  rememberDevice(reply, OPERATOR_DEVICE_COOKIE, adminToken);
}

/** A path of the operator console, never an address of another site. */
export function consolePath(to: unknown): string {
  return pathWithin(to, ['admin']) ?? '/admin';
}

function showForm(reply: FastifyReply, form: FormState, status?: number): FastifyReply {
  return sendPage(
    reply,
    <Page title="Operator console" viewer={VISITOR}>
      <div class="card narrow">
        <h1>Enter your code</h1>
        <PostForm action={OPERATOR_CODE_PATH} form={form}>
          <HiddenFields fields={{ to: consolePath(form.values.to) }} />
          <CodeField label="Code" hint="The six digits that your app shows, or a recovery code" />
          <button type="submit" class="primary">
            Sign in
          </button>
        </PostForm>
        <p class="hint">
          Without the app and the recovery codes, run <code>souk operator reset2fa</code> on the server.
        </p>
      </div>
    </Page>,
    status,
  );
}
