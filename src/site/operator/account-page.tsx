import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { VNode } from 'preact';
import { z } from 'zod';
import { listKeys } from '../../accounts/account-keys.ts';
import { type Account, findAccount } from '../../accounts/accounts.ts';
import { listPlans } from '../../billing/grants.ts';
import { ledgerLines } from '../../billing/ledger-lines.ts';
import { listOrders } from '../../billing/payments/orders.ts';
import { walletBalances } from '../../billing/statement.ts';
import { recentCalls, subscriptionsOf } from '../../operator/account-facts.ts';
import { SoukError } from '../../platform/errors.ts';
import { type FormFaults, type FormValues, PostForm } from '../kit/form.tsx';
import { Page } from '../kit/layout.tsx';
import { sendPage } from '../kit/render.ts';
import { Time } from '../kit/words.tsx';
import type { Pages } from '../pages.ts';
import { viewerOf } from '../session.ts';
import {
  CallTable,
  KeyTable,
  LedgerTable,
  OrderTable,
  PackTable,
  SubscriptionTable,
} from './account-tables.tsx';
import { AccountTag } from './account-tag.tsx';
import { GrantForms } from './grant-forms.tsx';

const LINES = 15;

const params = z.object({
  id: z
    .string()
    .regex(/^[1-9]\d{0,14}$/)
    .transform(Number),
});

/** What a page of an account has to say besides. */
export interface AccountNews {
  /** Shown above all. */
  shown?: VNode;
  /** A form that was refused. */
  refused?: { form: 'subscription' | 'pack'; values: FormValues; faults: FormFaults };
  status?: number;
}

export function registerAccountPage(scope: FastifyInstance, pages: Pages): void {
  scope.get('/admin/accounts/:id', async (request, reply) =>
    sendAccountPage(pages, request, reply, await accountIn(pages, request)),
  );
}

/** @throws SoukError NOT_FOUND when the address names no account. */
export async function accountIn({ gateway }: Pages, request: FastifyRequest): Promise<Account> {
  const parsed = params.safeParse(request.params);
  const account = parsed.success ? await findAccount(gateway.database, parsed.data.id) : null;
  if (!account) throw new SoukError('NOT_FOUND', { message: 'There is no such account.' });
  return account;
}

/** Everything about an account, and what can be done with it. */
export async function sendAccountPage(
  { gateway }: Pages,
  request: FastifyRequest,
  reply: FastifyReply,
  account: Account,
  { shown, refused, status = 200 }: AccountNews = {},
): Promise<FastifyReply> {
  const { database, clock } = gateway;
  const { id, email, name, state, createdAt } = account;
  const now = clock.now();
  const [keys, balances, subscriptions, orders, calls, ledger, plans] = await Promise.all([
    listKeys(database, id, now),
    walletBalances(database, id, now),
    subscriptionsOf(database, id),
    listOrders(database, { accountId: id, limit: LINES }),
    recentCalls(database, id, LINES),
    ledgerLines(database, id, { limit: LINES }),
    listPlans(database),
  ]);
  const viewer = viewerOf(request, reply);
  const csrf = reply.generateCsrf();
  return sendPage(
    reply,
    <Page title={email} viewer={viewer} path={`/admin/accounts/${id}`} wide>
      <h1>{email}</h1>
      {shown}
      <div class="split">
        <section class="card">
          <h2>Account</h2>
          <dl class="facts">
            <dt>Number</dt>
            <dd>{id}</dd>
            <dt>Name</dt>
            <dd>{name}</dd>
            <dt>State</dt>
            <dd>
              <AccountTag state={state} />
            </dd>
            <dt>Made</dt>
            <dd>
              <Time at={createdAt} />
            </dd>
          </dl>
          <Actions account={account} csrf={csrf} />
        </section>
        <section class="card">
          <h2>Give units</h2>
          <GrantForms
            path={`/admin/accounts/${id}`}
            csrf={csrf}
            plans={plans}
            {...(refused ? { refused } : {})}
          />
        </section>
      </div>
      <h2>Subscriptions</h2>
      <SubscriptionTable subscriptions={subscriptions} balances={balances} now={now} />
      <h2>Packs</h2>
      <PackTable packs={balances.packs} />
      <h2>Keys</h2>
      <KeyTable keys={keys} />
      <h2>Orders</h2>
      <OrderTable orders={orders} />
      <h2>Recent calls</h2>
      <CallTable calls={calls} />
      <h2>Ledger</h2>
      <LedgerTable lines={ledger} />
    </Page>,
    status,
  );
}

function Actions({ account: { id, email, state }, csrf }: { account: Account; csrf: string }): VNode {
  const path = `/admin/accounts/${id}`;
  const isActive = state === 'active';
  return (
    <div class="row">
      <PostForm action={`${path}/view`} csrf={csrf}>
        <button type="submit">See as the customer sees</button>
      </PostForm>
      <PostForm action={`${path}/password`} csrf={csrf}>
        <button type="submit">Link to a new password</button>
      </PostForm>
      {isActive ? (
        <PostForm
          action={`${path}/disable`}
          csrf={csrf}
          confirm={`Disable ${email}? Its calls are refused and it is signed out, at once.`}
        >
          <button type="submit" class="danger">
            Disable
          </button>
        </PostForm>
      ) : (
        <PostForm action={`${path}/enable`} csrf={csrf}>
          <button type="submit" class="primary">
            Enable
          </button>
        </PostForm>
      )}
    </div>
  );
}
