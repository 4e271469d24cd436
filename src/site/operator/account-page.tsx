import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { VNode } from 'preact';
import { z } from 'zod';
import { listKeys } from '../../accounts/account-keys.ts';
import { type Account, findAccount } from '../../accounts/accounts.ts';
import {
  hasTestAccount,
  isTestAccount,
  liveAccountOf,
  testAccountOf,
} from '../../accounts/authentication.ts';
import { listPlans } from '../../billing/grants.ts';
import { ledgerLines } from '../../billing/ledger-lines.ts';
import { listPurchases } from '../../billing/payments/purchases.ts';
import { renewingPlansOf } from '../../billing/payments/sync-renewal.ts';
import { walletBalances } from '../../billing/statement.ts';
import { recentCalls, subscriptionsOf } from '../../operator/account-facts.ts';
import { type AccountNote, accountNotes } from '../../operator/account-notes.ts';
import { type Erasure, erasureOf } from '../../operator/personal-data/erasure.ts';
import type { Database } from '../../platform/db/pool.ts';
import { SoukError } from '../../platform/errors.ts';
import { isConnection } from '../customer/connections.tsx';
import { ButtonLink, Card, Facts } from '../kit/elements.tsx';
import { PostButton, PostForm, Submit, TextArea } from '../kit/form.tsx';
import type { FormState } from '../kit/form-request.ts';
import { Page } from '../kit/layout.tsx';
import { sendPage } from '../kit/render.tsx';
import { Table } from '../kit/table.tsx';
import { accountPath } from '../kit/viewer.ts';
import { Time } from '../kit/words.tsx';
import type { Pages } from '../pages.ts';
import {
  AccountTag,
  CallTable,
  ConnectionTable,
  KeyTable,
  LedgerTable,
  PackTable,
  PurchaseTable,
  RenewalTable,
  SubscriptionTable,
} from './account-tables.tsx';
import { GrantForms } from './grant-forms.tsx';

const LINES = 15;

const params = z.object({
  id: z
    .string()
    .regex(/^[1-9]\d{0,14}$/)
    .transform(Number),
});

/** Additional content of an account's page. */
export interface AccountExtras {
  /** Shown at the top. */
  shown?: VNode;
  /** A form that was refused. */
  refused?: { kind: 'subscription' | 'pack' | 'note'; form: FormState };
  status?: number;
}

export function registerAccountPage(scope: FastifyInstance, pages: Pages): void {
  scope.get('/admin/accounts/:id', async (request, reply) =>
    sendAccountPage(pages, reply, await accountIn(pages, request)),
  );
}

/** @throws SoukError NOT_FOUND when the address names no account. */
export async function accountIn({ database }: Pages, request: FastifyRequest): Promise<Account> {
  const parsed = params.safeParse(request.params);
  const account = parsed.success ? await findAccount(database, parsed.data.id) : null;
  if (!account) throw new SoukError('NOT_FOUND', { message: 'This account does not exist.' });
  return account;
}

/** Sends the page of an account: its details, its actions and its records. */
export async function sendAccountPage(
  { database, clock }: Pages,
  reply: FastifyReply,
  account: Account,
  { shown, refused, status }: AccountExtras = {},
): Promise<FastifyReply> {
  const { id, email } = account;
  const now = clock.now();
  const [plans, records, hasTest, erasure, notes] = await Promise.all([
    listPlans(database),
    recordsOf(database, id, now),
    hasTestAccount(database, id),
    erasureOf(database, id),
    accountNotes(database, id),
  ]);
  return sendPage(
    reply,
    <Page title={email} wide>
      {shown}
      <div class="split">
        <Card title="Account">
          <AccountFacts account={account} erasure={erasure} />
          {hasTest && (
            <p>
              <a href={`/admin/accounts/${testAccountOf(id)}`}>Test account</a>
            </p>
          )}
          <Actions account={account} erasure={erasure} />
        </Card>
        <Card title="Grant units">
          <GrantForms path={`/admin/accounts/${id}`} plans={plans} refused={refused} />
        </Card>
      </div>
      <Notes accountId={id} notes={notes} form={refused?.kind === 'note' ? refused.form : undefined} />
      <Records records={records} now={now} />
    </Page>,
    status,
  );
}

/** What operators have written about the account, and the form for another note. */
function Notes(props: {
  accountId: number;
  notes: readonly AccountNote[];
  form: FormState | undefined;
}): VNode {
  const { accountId, notes, form } = props;
  const path = `/admin/accounts/${accountId}/notes`;
  return (
    <section id="notes">
      <h2>Notes</h2>
      {notes.length > 0 && (
        <Table
          name="Notes"
          rows={notes}
          columns={[
            ['Date', ({ at }) => <Time at={at} />],
            ['By', ({ email, author }) => email ?? author],
            ['Note', ({ text }) => <span class="long-text">{text}</span>],
            [
              'Action',
              ({ id }) => (
                <PostButton action={`${path}/${id}/delete`} class="small" confirm="Delete this note?">
                  Delete
                </PostButton>
              ),
            ],
          ]}
        />
      )}
      <PostForm action={path} form={form}>
        <TextArea
          name="text"
          label="New note"
          rows={2}
          hint="For operators only, at most 1,000 characters."
        />
        <Submit>Add note</Submit>
      </PostForm>
    </section>
  );
}

type Records = Awaited<ReturnType<typeof recordsOf>>;

async function recordsOf(database: Database, id: number, now: number) {
  const [keys, balances, subscriptions, renewing, purchases, calls, ledger] = await Promise.all([
    listKeys(database, id, now),
    walletBalances(database, id, now),
    subscriptionsOf(database, id),
    renewingPlansOf(database, id),
    listPurchases(database, id, LINES),
    recentCalls(database, id, LINES),
    ledgerLines(database, id, { limit: LINES }),
  ]);
  return { keys, balances, subscriptions, renewing, purchases, calls, ledger };
}

function Records({ records, now }: { records: Records; now: number }): VNode {
  const { keys, balances, subscriptions, renewing, purchases, calls, ledger } = records;
  return (
    <>
      <h2>Subscriptions</h2>
      <SubscriptionTable subscriptions={subscriptions} balances={balances} now={now} />
      {renewing.length > 0 && <RenewalTable plans={renewing} />}
      <h2>Packs</h2>
      <PackTable rows={balances.packs} />
      <h2>Keys</h2>
      <KeyTable rows={keys.filter((key) => !isConnection(key)).toReversed()} />
      <h2>Connections</h2>
      <ConnectionTable rows={keys.filter(isConnection).toReversed()} />
      <h2>Purchases</h2>
      <PurchaseTable rows={purchases} />
      <h2>Recent calls</h2>
      <CallTable rows={calls} />
      <h2>Ledger</h2>
      <LedgerTable rows={ledger} />
    </>
  );
}

interface AccountProps {
  account: Account;
  erasure: Erasure;
}

function AccountFacts({ account, erasure }: AccountProps): VNode {
  const { id, name, state, createdAt, emailConfirmedAt } = account;
  return (
    <Facts
      facts={[
        ['Account number', id],
        ['Name', name],
        [
          'E-mail address',
          emailConfirmedAt ? (
            <>
              Confirmed <Time at={emailConfirmedAt} />
            </>
          ) : (
            'Not confirmed'
          ),
        ],
        ['State', <AccountTag state={state} />],
        ['Created', <Time at={createdAt} />],
        erasure.eraseAt &&
          !erasure.erasedAt && ['Personal data will be erased', <Time at={erasure.eraseAt} />],
        erasure.erasedAt && ['Personal data erased', <Time at={erasure.erasedAt} />],
      ]}
    />
  );
}

function Actions({ account, erasure }: AccountProps): VNode {
  const { id, email, state, emailConfirmedAt } = account;
  const path = `/admin/accounts/${id}`;
  if (isTestAccount(id))
    return (
      <div class="row">
        <ButtonLink to={accountPath(id)}>View as customer</ButtonLink>
        <ButtonLink to={`/admin/accounts/${liveAccountOf(id)}`}>Live account</ButtonLink>
      </div>
    );
  if (erasure.erasedAt)
    return (
      <div class="row">
        <PostButton action={`${path}/export`}>Export data</PostButton>
      </div>
    );
  return (
    <div class="row">
      <ButtonLink to={accountPath(id)}>View as customer</ButtonLink>
      <PostButton action={`${path}/password`}>Create password reset link</PostButton>
      {emailConfirmedAt === null && (
        <PostButton action={`${path}/confirm-email`}>Confirm the e-mail address</PostButton>
      )}
      {state === 'active' ? (
        <PostButton
          action={`${path}/disable`}
          confirm={`Disable ${email}? Its calls are refused and its members are signed out immediately.`}
          class="danger"
        >
          Disable
        </PostButton>
      ) : (
        <PostButton action={`${path}/enable`} class="primary">
          Enable
        </PostButton>
      )}
      <PostButton action={`${path}/export`}>Export data</PostButton>
      <ErasureButton path={path} email={email} erasure={erasure} />
    </div>
  );
}

function ErasureButton({ path, email, erasure }: { path: string; email: string; erasure: Erasure }): VNode {
  if (erasure.eraseAt) return <PostButton action={`${path}/keep`}>Undo erasure</PostButton>;
  return (
    <PostButton
      action={`${path}/erase`}
      confirm={`Erase the personal data of ${email} in seven days? This can be undone until then.`}
      class="danger"
    >
      Erase personal data
    </PostButton>
  );
}
