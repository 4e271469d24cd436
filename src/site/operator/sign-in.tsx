import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { createTokenMatch, credentialOf } from '../../accounts/operator-token.ts';
import { beginSession, endSession, findSession } from '../../accounts/sessions.ts';
import { Field, FormFault, type FormFaults, PostForm, readForm } from '../kit/form.tsx';
import { Page } from '../kit/layout.tsx';
import { sendPage } from '../kit/render.ts';
import type { Pages } from '../pages.ts';
import { forgetToken, keepToken, SESSION_COOKIES } from '../session.ts';
import { tooManyAttempts } from '../visitor/sign-in.tsx';

const signIn = z.object({
  token: z.string({ error: 'is missing' }).trim().min(1, 'is missing').max(1_000, 'is too long'),
  to: z.string().optional(),
});

/** Guesses are counted by where they come from, so that nobody can lock the operator out. */
export function operatorAttempt({ ip }: FastifyRequest): { address: string; email: string } {
  return { address: ip, email: `operator ${ip}` };
}

export function registerOperatorSignIn(scope: FastifyInstance, pages: Pages, adminToken: string): void {
  const { gateway, attempts } = pages;
  const { database, clock } = gateway;
  const isToken = createTokenMatch(adminToken);

  scope.get<{ Querystring: { to?: unknown } }>('/admin/sign-in', async (request, reply) => {
    const to = deskPath(request.query.to);
    if (request.session) return reply.redirect(to, 303);
    return send(request, reply, to, {});
  });

  scope.post('/admin/sign-in', async (request, reply) => {
    const form = readForm(signIn, request.body);
    const to = deskPath(form.values.to);
    if (!form.ok) return send(request, reply, to, form.faults, 400);
    const attempt = operatorAttempt(request);
    const waitSeconds = await attempts.count(attempt);
    if (waitSeconds !== null) {
      reply.header('retry-after', waitSeconds);
      return send(request, reply, to, { '': tooManyAttempts(waitSeconds) }, 429);
    }
    if (!isToken(form.input.token)) return send(request, reply, to, { token: 'is wrong' }, 401);
    await attempts.forgive(attempt);
    const credential = credentialOf(adminToken);
    keepToken(reply, pages, 'operator', await beginSession(database, { credential }, clock.now()));
    return reply.redirect(to, 303);
  });

  scope.post('/admin/sign-out', async (request, reply) => {
    if (request.session) await endSession(database, request.session.tokenHash);
    forgetToken(reply, pages, 'operator');
    // Nor does the operator go on looking at a customer's pages.
    const cookie = request.cookies[SESSION_COOKIES.customer];
    const looking = cookie ? await findSession(database, cookie, clock.now()) : null;
    if (looking?.kind === 'customer' && looking.isOperator) {
      await endSession(database, looking.tokenHash);
      forgetToken(reply, pages, 'customer');
    }
    return reply.redirect('/admin/sign-in', 303);
  });
}

/** A path of the desk, never an address of another site. */
function deskPath(to: unknown): string {
  return typeof to === 'string' && /^\/admin(?:[/?][^\\\s]*)?$/.test(to) ? to : '/admin';
}

function send(
  request: FastifyRequest,
  reply: FastifyReply,
  to: string,
  faults: FormFaults,
  status = 200,
): FastifyReply {
  return sendPage(
    reply,
    <Page title="Operator's desk" viewer={{ kind: 'visitor' }} path={request.url}>
      <div class="card narrow">
        <h1>Operator's desk</h1>
        <PostForm action="/admin/sign-in" csrf={reply.generateCsrf()}>
          <FormFault faults={faults} />
          <input type="hidden" name="to" value={to} />
          <Field
            name="token"
            label="Operator's token"
            type="password"
            autocomplete="current-password"
            required
            hint="The setting ADMIN_TOKEN of this installation."
            fault={faults.token}
          />
          <button type="submit" class="primary">
            Sign in
          </button>
        </PostForm>
        <p>
          <a href="/sign-in">Customers sign in here</a>
        </p>
      </div>
    </Page>,
    status,
  );
}
