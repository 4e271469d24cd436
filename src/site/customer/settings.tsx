import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { accountWithPassword, hashPassword, PASSWORD_LENGTH, setPassword } from '../../accounts/passwords.ts';
import { endOtherSessions } from '../../accounts/sessions.ts';
import { Field, FormFault, type FormFaults, PostForm, readForm } from '../kit/form.tsx';
import { Page } from '../kit/layout.tsx';
import { NewPasswordField, newPassword } from '../kit/new-password-field.tsx';
import { sendPage } from '../kit/render.ts';
import type { Pages } from '../pages.ts';
import { customerOf, viewerOf } from '../session.ts';
import { tooManyAttempts } from '../visitor/sign-in.tsx';

const change = z.object({
  current: z.string({ error: 'is missing' }).min(1, 'is missing').max(PASSWORD_LENGTH.max, 'is too long'),
  password: newPassword,
});

/** Who the customer is, and the password. */
export function registerSettings(scope: FastifyInstance, { gateway, attempts }: Pages): void {
  const { database, clock } = gateway;

  scope.get<{ Querystring: { changed?: string } }>('/account/settings', async (request, reply) =>
    send(request, reply, {}, request.query.changed === '1'),
  );

  scope.post('/account/settings/password', async (request, reply) => {
    const { email, accountId, tokenHash } = customerOf(request);
    const form = readForm(change, request.body);
    if (!form.ok) return send(request, reply, form.faults, false, 400);
    const attempt = { address: request.ip, email };
    const waitSeconds = await attempts.count(attempt);
    if (waitSeconds !== null) return send(request, reply, { '': tooManyAttempts(waitSeconds) }, false, 429);
    if ((await accountWithPassword(database, email, form.input.current)) !== accountId)
      return send(request, reply, { current: 'is wrong' }, false, 400);
    await attempts.forgive(attempt);
    await setPassword(database, accountId, await hashPassword(form.input.password), clock.now());
    await endOtherSessions(database, accountId, tokenHash);
    return reply.redirect('/account/settings?changed=1', 303);
  });
}

function send(
  request: FastifyRequest,
  reply: FastifyReply,
  faults: FormFaults,
  isChanged: boolean,
  status = 200,
): FastifyReply {
  const { email, name, accountId } = customerOf(request);
  return sendPage(
    reply,
    <Page title="Settings" viewer={viewerOf(request, reply)} path="/account/settings">
      <h1>Settings</h1>
      {isChanged && (
        <div class="notice good" role="status">
          <p>The password was changed. Everybody else who was signed in to this account is signed out.</p>
        </div>
      )}
      <section class="card">
        <h2>Account</h2>
        <dl class="facts">
          <dt>E-mail address</dt>
          <dd>{email}</dd>
          <dt>Name</dt>
          <dd>{name}</dd>
          <dt>Number</dt>
          <dd>{accountId}</dd>
        </dl>
      </section>
      <section class="card">
        <h2>Change the password</h2>
        <PostForm action="/account/settings/password" csrf={reply.generateCsrf()}>
          <FormFault faults={faults} />
          <Field
            name="current"
            label="Present password"
            type="password"
            autocomplete="current-password"
            required
            fault={faults.current}
          />
          <NewPasswordField
            label="New password"
            hint="Other browsers are signed out."
            fault={faults.password}
          />
          <button type="submit" class="primary">
            Change the password
          </button>
        </PostForm>
      </section>
    </Page>,
    status,
  );
}
