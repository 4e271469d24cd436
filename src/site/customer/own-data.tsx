import { Readable } from 'node:stream';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { VNode } from 'preact';
import { z } from 'zod';
import {
  cancelErasure,
  type Erasure,
  ErasureRefused,
  requestErasure,
} from '../../operator/personal-data/erasure.ts';
import { exportAccount } from '../../operator/personal-data/export-account.ts';
import { SoukError } from '../../platform/errors.ts';
import { ButtonLink, Card } from '../kit/elements.tsx';
import { Field, PostButton, PostForm, presentPassword } from '../kit/form.tsx';
import { FormRefused, type FormState, onSubmit, type ShowForm } from '../kit/form-request.ts';
import { Time } from '../kit/words.tsx';
import type { Pages } from '../pages.ts';
import { customerOf } from '../session.ts';
import { verifyPassword } from '../visitor/sign-in.tsx';

const PATH = '/account/settings';

/** What the customer types to confirm. */
const WORD = 'DELETE';

const erasureForm = z.object({
  password: presentPassword,
  confirmation: z
    .string()
    .trim()
    .pipe(z.literal(WORD, `must be the word ${WORD}`)),
});

/** Registers the download of the account's data, and the request to erase it. */
export function registerOwnData(scope: FastifyInstance, pages: Pages, show: ShowForm): void {
  const { database, clock } = pages;
  const inProgress = new Set<number>();

  scope.get('/account/data.json', async (request, reply) => {
    const { liveAccountId: accountId, isOperator } = customerOf(request);
    if (isOperator)
      throw new SoukError('KEY_FORBIDDEN', { message: 'Export the data of this account in the console.' });
    if (inProgress.has(accountId))
      throw new SoukError('TOO_MANY_OPEN', { message: 'A download of this account is in progress.' });
    inProgress.add(accountId);
    const document = Readable.from(exportAccount(database, accountId, clock.now()));
    document.once('close', () => inProgress.delete(accountId));
    return sendExport(reply, document, accountId);
  });

  scope.post(`${PATH}/erase`, onSubmit(erasureForm, show, erase));
  scope.post(`${PATH}/keep`, async (request, reply) => {
    await cancelErasure(database, customerOf(request).liveAccountId, clock.now());
    return reply.redirect(PATH, 303);
  });

  async function erase(
    { password }: z.output<typeof erasureForm>,
    request: FastifyRequest,
    reply: FastifyReply,
  ): Promise<string> {
    await verifyPassword(pages, request, reply, { field: 'password', password });
    try {
      await requestErasure(database, customerOf(request).liveAccountId, clock.now());
    } catch (error) {
      if (error instanceof ErasureRefused) throw new FormRefused(409, { '': error.message });
      throw error;
    }
    return PATH;
  }
}

/** Sends the data of an account as a file. */
export function sendExport(reply: FastifyReply, document: Readable, accountId: number): FastifyReply {
  return reply
    .type('application/json; charset=utf-8')
    .header('cache-control', 'no-store')
    .header('content-disposition', `attachment; filename="account-${accountId}.json"`)
    .send(document);
}

export function OwnData({ erasure: { eraseAt }, form }: { erasure: Erasure; form: FormState }): VNode {
  return (
    <Card title="Your data">
      <p>
        <ButtonLink to="/account/data.json" download>
          Download my data
        </ButtonLink>
      </p>
      <p class="hint">
        One JSON document: profile, keys without their secrets, purchases, ledger, usage, calls, batches,
        schedules, trackers, webhooks and sessions.
      </p>
      {eraseAt ? <PlannedErasure at={eraseAt} /> : <EraseForm form={form} />}
    </Card>
  );
}

function PlannedErasure({ at }: { at: Date }): VNode {
  return (
    <div class="notice warn" role="status">
      <p>
        This account and its personal data will be deleted at <Time at={at} />.
      </p>
      <PostButton action={`${PATH}/keep`}>Keep my account</PostButton>
    </div>
  );
}

function EraseForm({ form }: { form: FormState }): VNode {
  return (
    <details open={Object.keys(form.faults).length > 0}>
      <summary>Delete my account</summary>
      <p>
        After seven days, open calls and batches are cancelled, and your address, name, keys, sessions,
        schedules, batches and webhooks are deleted. Units that are left are lost. Purchases and the ledger
        are kept without your name, as book-keeping requires. Until then you can keep the account here.
      </p>
      <PostForm action={`${PATH}/erase`} form={form}>
        <Field
          name="password"
          id="erase-password"
          label="Current password"
          type="password"
          autocomplete="current-password"
          required
        />
        <Field name="confirmation" label={`Type ${WORD} to confirm`} required autocomplete="off" />
        <button type="submit" class="danger">
          Delete my account
        </button>
      </PostForm>
    </details>
  );
}
