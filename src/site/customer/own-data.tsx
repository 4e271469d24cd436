import { Readable } from 'node:stream';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { VNode } from 'preact';
import { z } from 'zod';
import { isAble, type Membership, membershipsOf, rolesAble, soleOwnerships } from '../../accounts/members.ts';
import { writeAct } from '../../operator/account-audit.ts';
import {
  cancelErasure,
  type Erasure,
  ErasureRefused,
  erasePerson,
  requestErasure,
} from '../../operator/personal-data/erasure.ts';
import { exportAccount, exportPerson } from '../../operator/personal-data/export-account.ts';
import { inTransaction } from '../../platform/db/transaction.ts';
import { SoukError } from '../../platform/errors.ts';
import { ButtonLink, Card } from '../kit/elements.tsx';
import { Field, PostButton, PostForm, presentPassword } from '../kit/form.tsx';
import { FormRefused, type FormState, onSubmit, type ShowForm } from '../kit/form-request.ts';
import { Time } from '../kit/words.tsx';
import { noteActs } from '../page-acts.ts';
import type { Pages } from '../pages.ts';
import { clearSessionCookie, customerOf, personOf } from '../session.ts';
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
    const { liveAccountId: accountId, isStaff, role } = customerOf(request);
    if (isStaff)
      throw new SoukError('KEY_FORBIDDEN', { message: 'Export the data of this account in the console.' });
    if (!isAble(role, 'ownership'))
      throw new SoukError('KEY_FORBIDDEN', {
        message: `Your role in this account is ${role}. This requires ${rolesAble('ownership')}.`,
      });
    if (inProgress.has(accountId))
      throw new SoukError('TOO_MANY_OPEN', { message: 'A download of this account is in progress.' });
    inProgress.add(accountId);
    noteActs(request, { action: 'account.exported' });
    const document = Readable.from(exportAccount(database, accountId, clock.now()));
    document.once('close', () => inProgress.delete(accountId));
    return sendExport(reply, document, `account-${accountId}`);
  });

  scope.post(`${PATH}/erase`, onSubmit(erasureForm, show, erase));
  scope.post(`${PATH}/keep`, async (request, reply) => {
    const isKept = await cancelErasure(database, customerOf(request).liveAccountId, clock.now());
    if (!isKept) noteActs(request);
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

/** Sends personal data as a file. */
export function sendExport(reply: FastifyReply, document: Readable, name: string): FastifyReply {
  return reply
    .type('application/json; charset=utf-8')
    .header('cache-control', 'no-store')
    .header('content-disposition', `attachment; filename="${name}.json"`)
    .send(document);
}

export function OwnData({ erasure: { eraseAt }, form }: { erasure: Erasure; form: FormState }): VNode {
  return (
    <Card title="Data of this account">
      <p>
        <ButtonLink to="/account/data.json" download>
          Download the data
        </ButtonLink>
      </p>
      <p class="hint">
        One JSON document: members, keys without their secrets, purchases, ledger, usage, calls, batches,
        schedules, trackers and webhooks. Your own data is in your <a href="/profile">profile</a>.
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
      <PostButton action={`${PATH}/keep`}>Keep this account</PostButton>
    </div>
  );
}

function EraseForm({ form }: { form: FormState }): VNode {
  return (
    <details open={Object.keys(form.faults).length > 0}>
      <summary>Delete this account</summary>
      <p>
        After seven days, open calls and batches are cancelled, and the name, keys, schedules, batches and
        webhooks of this account are deleted, with all members who belong to no other account. Units that are
        left are lost. Purchases and the ledger are kept without a name, as book-keeping requires. Until then
        you can keep the account here.
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
          Delete this account
        </button>
      </PostForm>
    </details>
  );
}

/** Registers the download of what is stored about a person, and the erasure of the person. */
export function registerPersonData(scope: FastifyInstance, pages: Pages, show: ShowForm): void {
  const { database, clock } = pages;

  scope.get('/profile/data.json', async (request, reply) => {
    const { personId } = personOf(request);
    return sendExport(
      reply,
      Readable.from(exportPerson(database, personId, clock.now())),
      `person-${personId}`,
    );
  });

  scope.post('/profile/erase', onSubmit(erasureForm, show, erase));

  async function erase(
    { password }: z.output<typeof erasureForm>,
    request: FastifyRequest,
    reply: FastifyReply,
  ): Promise<string> {
    const { personId } = personOf(request);
    await verifyPassword(pages, request, reply, { field: 'password', password });
    await inTransaction(database, async (client) => {
      const [first] = await soleOwnerships(client, personId);
      if (first !== undefined)
        throw new FormRefused(409, {
          '': `You are the only owner of ${first}. Make somebody else an owner, or delete the account first.`,
        });
      for (const { accountId } of await membershipsOf(client, personId))
        await writeAct(client, personId, { accountId, action: 'member.left' });
      await erasePerson(client, personId);
    });
    clearSessionCookie(reply);
    return '/';
  }
}

/** The part of the profile about personal data. */
export function PersonData(props: { accounts: readonly Membership[]; form: FormState }): VNode {
  const { accounts, form } = props;
  return (
    <Card title="Your data">
      <p>
        <ButtonLink to="/profile/data.json" download>
          Download my data
        </ButtonLink>
      </p>
      <p class="hint">
        One JSON document: what is stored about you. The data of an account is in its settings.
      </p>
      <details open={Object.keys(form.faults).length > 0}>
        <summary>Delete my profile</summary>
        <p>
          Your address, name, password, sessions and memberships are deleted immediately. Accounts and their
          keys stay with their other members{accounts.length > 0 && ', so each needs another owner'}. Programs
          that you have connected are refused.
        </p>
        <PostForm action="/profile/erase" form={form}>
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
            Delete my profile
          </button>
        </PostForm>
      </details>
    </Card>
  );
}
