import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { VNode } from 'preact';
import { z } from 'zod';
import {
  accountNameField,
  accountStateField,
  newAccountFields,
  providerActs,
} from '../../operator/acts/provider-acts.ts';
import { type AccountUsage, accountUsage, sumsByAccount } from '../../operator/usage-report.ts';
import { SoukError } from '../../platform/errors.ts';
import { type AccountReading, readAccounts } from '../../upstream/stored-accounts.ts';
import type { AccountTrouble } from '../../upstream/token-bucket.ts';
import { Card, Tag } from '../kit/elements.tsx';
import { Choice, Field, FilterForm, PostButton, PostForm, Submit } from '../kit/form.tsx';
import { FormRefused, type FormState, NO_INPUT, onSubmit } from '../kit/form-request.ts';
import { Page } from '../kit/layout.tsx';
import { sendPage } from '../kit/render.tsx';
import { Table } from '../kit/table.tsx';
import { amount, count, Dash, Time } from '../kit/words.tsx';
import { operatingOf, type Pages } from '../pages.ts';

const PATH = '/admin/provider-accounts';

const DAY_MS = 86_400_000;

const PERIODS = [
  ['1', 'Last 24 hours'],
  ['30', 'Last 30 days'],
  ['365', 'Last 365 days'],
] as const;

const query = z.object({ days: z.enum(['1', '30', '365']).catch('1'), account: z.string().catch('') });
const named = z.object({ name: accountNameField });
const stateForm = z.object({ state: accountStateField });

/** Registers the page of the accounts at the provider of product data: tokens, health, history, and their states. */
export function registerProviderAccounts(scope: FastifyInstance, pages: Pages): void {
  const { database, clock, secretBox } = pages;

  scope.get(PATH, (request, reply) => showFor(reply, query.parse(request.query), NO_INPUT));
  scope.post(PATH, onSubmit(newAccountFields, show, add));
  scope.post(`${PATH}/:name/state`, async (request, reply) => {
    const state = stateForm.safeParse(request.body).data?.state;
    const account = accountOf(request);
    if (!state || !(await providerActs.setState(operatingOf(pages, request), { ...account, state })))
      throw new SoukError('NOT_FOUND', { message: 'This account or state does not exist.' });
    return reply.redirect(PATH, 303);
  });
  scope.post(`${PATH}/:name/remove`, async (request, reply) => {
    if (!(await providerActs.remove(operatingOf(pages, request), accountOf(request))))
      throw new SoukError('NOT_FOUND', { message: 'No account of this name can be removed now.' });
    return reply.redirect(PATH, 303);
  });

  /** @throws SoukError NOT_FOUND if the address has no name of an account. */
  function accountOf({ params }: FastifyRequest): { provider: string; name: string } {
    const parsed = named.safeParse(params);
    if (!parsed.success) throw new SoukError('NOT_FOUND', { message: 'This account does not exist.' });
    return { provider: pages.providers.products, ...parsed.data };
  }

  async function add(account: z.output<typeof newAccountFields>, request: FastifyRequest): Promise<string> {
    if (
      !(await providerActs.add(operatingOf(pages, request), secretBox, {
        provider: pages.providers.products,
        ...account,
      }))
    )
      throw new FormRefused(409, { name: 'An account has this name or this key already' });
    return PATH;
  }

  function show(reply: FastifyReply, form: FormState, status?: number): Promise<FastifyReply> {
    return showFor(reply, query.parse({}), form, status);
  }

  async function showFor(
    reply: FastifyReply,
    { days, account }: z.output<typeof query>,
    form: FormState,
    status?: number,
  ): Promise<FastifyReply> {
    const now = clock.now();
    const { products: provider } = pages.providers;
    const period = { from: now - Number(days) * DAY_MS, to: now, by: days === '1' ? 'hour' : 'day' } as const;
    const [read, usage] = await Promise.all([
      readAccounts(pages, provider).catch(() => null),
      accountUsage(database, provider, period),
    ]);
    const accounts = read ?? [];
    const chosen = accounts.find(({ name }) => name === account) ?? accounts[0];
    return sendPage(
      reply,
      <Page title="Accounts at the data provider" wide>
        <p class="lead">Workers apply a change within seconds. Calls use only active accounts.</p>
        {read ? (
          <AccountTable accounts={accounts} usage={usage} />
        ) : (
          <p class="notice bad">The accounts are temporarily unavailable.</p>
        )}
        <Card title="New account">
          <PostForm action={PATH} form={form}>
            <Field name="name" label="Name" required hint="Lower-case letters, digits and hyphens." />
            <Field name="key" label="Key" type="password" autocomplete="off" required />
            <Submit>Add account</Submit>
          </PostForm>
        </Card>
        <h2>History</h2>
        <FilterForm path={PATH} values={{ days, account: chosen?.name }} button="Show">
          <Choice name="account" label="Account" options={accounts.map(({ name }) => [name, name])} />
          <Choice name="days" label="Period" options={PERIODS} />
        </FilterForm>
        <UsageTable rows={usage.filter((row) => row.account === chosen?.name)} />
      </Page>,
      status,
    );
  }
}

function AccountTable(props: { accounts: readonly AccountReading[]; usage: readonly AccountUsage[] }): VNode {
  const sums = sumsByAccount(props.usage);
  return (
    <Table
      name="Accounts"
      empty="No account is known yet: workers name those of KEEPA_API_KEY when they start."
      rows={props.accounts}
      columns={[
        ['Name', ({ name }) => <code>{name}</code>],
        ['Key in', ({ source }) => (source === 'console' ? 'this console' : 'KEEPA_API_KEY')],
        ['State', (account) => <StateTag account={account} />],
        ['Tokens', ({ tokens }) => (tokens ? amount(tokens.left) : <Dash />), 'number'],
        ['Per minute', ({ tokens }) => (tokens ? amount(tokens.perMinute) : <Dash />), 'number'],
        ['Under way', ({ underWay }) => count(underWay), 'number'],
        ['Tokens used', ({ name }) => amount(sums.get(name)?.tokens ?? 0), 'number'],
        ['Not answered', ({ name }) => count(sums.get(name)?.failures ?? 0), 'number'],
        ['Action', (account) => <Actions account={account} />],
      ]}
    />
  );
}

const TROUBLES: Readonly<Record<AccountTrouble['reason'], string>> = {
  refused: 'key refused',
  failed: 'requests fail',
  timeout: 'no answers in time',
  limited: 'answered with 429',
};

function StateTag({ account }: { account: AccountReading }): VNode {
  const { state, trouble, tokens, underWay } = account;
  if (state === 'paused') return <Tag>paused</Tag>;
  if (state === 'draining') return underWay === 0 ? <Tag>drained</Tag> : <Tag tone="warn">draining</Tag>;
  if (trouble?.until)
    return (
      <>
        <Tag tone="bad">set aside</Tag> {TROUBLES[trouble.reason]}, until <Time at={trouble.until} />
      </>
    );
  if (trouble) return <Tag tone="warn">{TROUBLES[trouble.reason]}</Tag>;
  return tokens && tokens.left <= 0 ? <Tag tone="warn">no tokens</Tag> : <Tag tone="good">active</Tag>;
}

function Actions({ account: { name, source, state } }: { account: AccountReading }): VNode {
  const change = (to: string, text: string) => (
    <PostButton action={`${PATH}/${name}/state`} class="small" fields={{ state: to }}>
      {text}
    </PostButton>
  );
  return (
    <div class="actions">
      {state === 'active' ? change('draining', 'Drain') : change('active', 'Resume')}
      {state !== 'paused' && change('paused', 'Pause')}
      {source === 'console' && state !== 'active' && (
        <PostButton action={`${PATH}/${name}/remove`} class="small" confirm={`Remove the account ${name}?`}>
          Remove
        </PostButton>
      )}
    </div>
  );
}

function UsageTable({ rows }: { rows: readonly AccountUsage[] }): VNode {
  return (
    <Table
      name="History of the account"
      empty="No requests in this period."
      rows={rows}
      columns={[
        ['From', ({ at }) => <Time at={at} />],
        ['Tokens used', ({ tokens }) => amount(tokens), 'number'],
        ['Answered', ({ answered }) => count(answered), 'number'],
        ['Key refused', ({ refused }) => count(refused), 'number'],
        ['429', ({ limited }) => count(limited), 'number'],
        ['Failed', ({ failed }) => count(failed), 'number'],
        ['Timed out', ({ timeout }) => count(timeout), 'number'],
      ]}
    />
  );
}
