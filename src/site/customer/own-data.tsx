import { finished, Readable } from 'node:stream';
import type { FastifyInstance } from 'fastify';
import type { ComponentChildren, VNode } from 'preact';
import { z } from 'zod';
import { type Membership, membershipsOf, soleOwnerships } from '../../accounts/members.ts';
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
import { CurrentPassword, Field, PostButton, PostForm, presentPassword } from '../kit/form.tsx';
import { FormRefused, type FormState, postForm, type ShowForm } from '../kit/form-request.ts';
import { sendFile } from '../kit/render.tsx';
import { Time } from '../kit/words.tsx';
import { noteActs } from '../page-acts.ts';
import { type Pages, requireAble } from '../pages.ts';
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
    requireAble(role, 'ownership');
    if (inProgress.has(accountId))
      throw new SoukError('TOO_MANY_OPEN', {
        message: 'A download of this account is in progress.',
        retryAfterSeconds: 5,
      });
    inProgress.add(accountId);
    // Not the end of the document: it is never read if its line in the audit log cannot be written.
    finished(reply.raw, () => inProgress.delete(accountId));
    noteActs(request, { action: 'account.exported' });
    const document = Readable.from(exportAccount(database, accountId, clock.now()));
    return sendFile(reply, { name: `account-${accountId}`, type: 'json' }, document);
  });

  postForm(scope, `${PATH}/erase`, erasureForm, show, async ({ password }, request, reply) => {
    await verifyPassword(pages, request, reply, { field: 'password', password });
    await requestErasure(database, customerOf(request).liveAccountId, clock.now()).catch((error) => {
      throw error instanceof ErasureRefused ? new FormRefused(409, { '': error.message }) : error;
    });
    return PATH;
  });
  scope.post(`${PATH}/keep`, async (request, reply) => {
    const isKept = await cancelErasure(database, customerOf(request).liveAccountId);
    if (!isKept) noteActs(request);
    return reply.redirect(PATH, 303);
  });
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
      {eraseAt ? (
        <div class="notice warn" role="status">
          <p>
            This account and its personal data will be deleted at <Time at={eraseAt} />.
          </p>
          <PostButton action={`${PATH}/keep`}>Keep this account</PostButton>
        </div>
      ) : (
        <EraseForm action={`${PATH}/erase`} button="Delete this account" form={form}>
          After seven days, open calls and batches are cancelled, and the name, keys, schedules, batches and
          webhooks of this account are deleted, with all members who belong to no other account. Units that
          are left are lost. Purchases and the ledger are kept without a name, as book-keeping requires. Until
          then you can keep the account here.
        </EraseForm>
      )}
    </Card>
  );
}

function EraseForm(props: { action: string; button: string; form: FormState; children: ComponentChildren }) {
  const { action, button, form, children } = props;
  return (
    <details open={Object.keys(form.faults).length > 0}>
      <summary>{button}</summary>
      <p>{children}</p>
      <PostForm action={action} form={form}>
        <CurrentPassword name="password" id="erase-password" />
        <Field name="confirmation" label={`Type ${WORD} to confirm`} required autocomplete="off" />
        <button type="submit" class="danger">
          {button}
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
    const document = Readable.from(exportPerson(database, personId, clock.now()));
    return sendFile(reply, { name: `person-${personId}`, type: 'json' }, document);
  });

  postForm(scope, '/profile/erase', erasureForm, show, async ({ password }, request, reply) => {
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
  });
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
      <EraseForm action="/profile/erase" button="Delete my profile" form={form}>
        Your address, name, password, sessions and memberships are deleted immediately. Accounts and their
        keys stay with their other members{accounts.length > 0 && ', so each needs another owner'}. Programs
        that you have connected are refused.
      </EraseForm>
    </Card>
  );
}
