import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { accountOfReset, resetPassword } from '../../accounts/password-resets.ts';

import { SoukError } from '../../platform/errors.ts';
import { type FormFaults, PostForm, readForm } from '../kit/form.tsx';
import { Page } from '../kit/layout.tsx';
import { NewPasswordField, newPassword } from '../kit/new-password-field.tsx';
import { sendPage } from '../kit/render.ts';
import type { Pages } from '../pages.ts';
import { forgetToken } from '../session.ts';

const tokenField = z.string().regex(/^[\w-]{43}$/);
const reset = z.object({ token: tokenField, password: newPassword });

/** A new password for whoever has the operator's link. */
export function registerResetPassword(scope: FastifyInstance, pages: Pages): void {
  const { database, clock } = pages.gateway;

  scope.get<{ Querystring: { token?: unknown } }>('/reset-password', async (request, reply) => {
    const token = tokenField.safeParse(request.query.token);
    return send(request, reply, await knownToken(token.data), {});
  });

  scope.post('/reset-password', async (request, reply) => {
    const form = readForm(reset, request.body);
    const known = await knownToken(tokenField.safeParse(form.values.token).data);
    if (!form.ok) return send(request, reply, known, form.faults, 400);
    if (!(await resetPassword(database, form.input.token, form.input.password, clock.now()))) throw spent();
    forgetToken(reply, pages, 'customer');
    return reply.redirect('/sign-in', 303);
  });

  async function knownToken(token: string | undefined): Promise<{ token: string; email: string }> {
    const email = token === undefined ? null : await accountOfReset(database, token, clock.now());
    if (token === undefined || email === null) throw spent();
    return { token, email };
  }
}

function spent(): SoukError {
  return new SoukError('NOT_FOUND', {
    message: 'This link was used already, or is too old. Ask the operator of this service for another.',
  });
}

function send(
  request: FastifyRequest,
  reply: FastifyReply,
  { token, email }: { token: string; email: string },
  faults: FormFaults,
  status = 200,
): FastifyReply {
  return sendPage(
    reply,
    <Page title="New password" viewer={{ kind: 'visitor' }} path={request.url}>
      <div class="card narrow">
        <h1>New password</h1>
        <p>
          For <strong>{email}</strong>. Everybody who is signed in to this account is signed out.
        </p>
        <PostForm action="/reset-password" csrf={reply.generateCsrf()}>
          <input type="hidden" name="token" value={token} />
          <NewPasswordField label="New password" fault={faults.password} />
          <button type="submit" class="primary">
            Set the password
          </button>
        </PostForm>
      </div>
    </Page>,
    status,
  );
}
