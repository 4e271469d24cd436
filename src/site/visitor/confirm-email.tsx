import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { confirmEmailByToken, emailOfConfirmation } from '../../accounts/email-confirmations.ts';
import { SoukError } from '../../platform/errors.ts';
import { HiddenFields, PostForm } from '../kit/form.tsx';
import { readForm } from '../kit/form-request.ts';
import { Page, VISITOR } from '../kit/layout.tsx';
import { sendPage } from '../kit/render.tsx';
import type { Pages } from '../pages.ts';

const PATH = '/confirm-email';

const schema = z.object({ token: z.string().regex(/^[\w-]{43}$/) });

/** Registers the page on which a link from a mail confirms an address. Programs that only open links confirm nothing. */
export function registerConfirmEmail(scope: FastifyInstance, pages: Pages): void {
  const { database, clock } = pages;
  scope.get(PATH, showButton);
  scope.post(PATH, confirm);

  async function showButton(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
    const token = tokenIn(request.query);
    const email = await emailOfConfirmation(database, token, clock.now());
    if (email === null) throw spent();
    return sendPage(
      reply,
      <Page title="Confirm the address" viewer={VISITOR}>
        <div class="card narrow">
          <h1>Confirm the address</h1>
          <p>
            Confirm that <strong>{email}</strong> is your e-mail address.
          </p>
          <PostForm action={PATH}>
            <HiddenFields fields={{ token }} />
            <button type="submit" class="primary">
              Confirm
            </button>
          </PostForm>
        </div>
      </Page>,
    );
  }

  async function confirm(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
    if (!(await confirmEmailByToken(database, tokenIn(request.body), clock.now()))) throw spent();
    return reply.redirect('/account', 303);
  }
}

function tokenIn(values: unknown): string {
  const form = readForm(schema, values);
  if (!form.ok) throw spent();
  return form.input.token;
}

function spent(): SoukError {
  return new SoukError('NOT_FOUND', {
    message: 'This link has been used or has expired. Your settings page sends a new one.',
  });
}
