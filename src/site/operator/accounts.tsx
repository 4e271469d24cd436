import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { VNode } from 'preact';
import { z } from 'zod';
import { searchAccounts } from '../../accounts/accounts.ts';
import { accountActs } from '../../operator/acts/account-acts.ts';
import { ButtonLink, Card } from '../kit/elements.tsx';
import { Field, FilterForm, PostForm, Submit } from '../kit/form.tsx';
import { FormRefused, type FormState, type FormValues, NO_INPUT, onSubmit } from '../kit/form-request.ts';
import { Page } from '../kit/layout.tsx';
import { ListPage, pageOf } from '../kit/list-page.tsx';
import { sendPage } from '../kit/render.tsx';
import { Table } from '../kit/table.tsx';
import { Time } from '../kit/words.tsx';
import { operatingOf, type Pages } from '../pages.ts';
import { EmailField, emailField } from '../visitor/sign-in.tsx';
import { AccountTag } from './account-tables.tsx';

const PATH = '/admin/accounts';

const ACCOUNTS_A_PAGE = 50;

/** Registers the search for accounts by e-mail address, name, number or key. */
export function registerAccountSearch(scope: FastifyInstance, { database }: Pages): void {
  scope.get(PATH, async (request, reply) => {
    const { q, before, query } = readSearch(request.query, 200);
    const found = await searchAccounts(database, { text: q, before, limit: ACCOUNTS_A_PAGE + 1 });
    const list = pageOf(found, ACCOUNTS_A_PAGE, query, ({ id }) => id);
    const filter = (
      <SearchForm
        path={PATH}
        label="E-mail address, name, account number or start of a key"
        q={q}
        maxLength={200}
        placeholder="ann@example.com, 17, km_aB3x"
      />
    );
    return sendPage(
      reply,
      <ListPage
        title="Accounts"
        create={['/admin/accounts/new', 'New account']}
        styles={[]}
        filter={filter}
        path={PATH}
        list={list}
        cursor="before"
      >
        <Table
          name="Accounts"
          empty={q ? 'No accounts found.' : 'No accounts yet.'}
          rows={list.items}
          columns={[
            ['Number', ({ id }) => id, 'number'],
            ['E-mail address', ({ id, email }) => <a href={`${PATH}/${id}`}>{email}</a>],
            ['Name', ({ name }) => name],
            ['State', ({ state }) => <AccountTag state={state} />],
            ['Created', ({ createdAt }) => <Time at={createdAt} />],
          ]}
        />
      </ListPage>,
    );
  });
}

const NEW_PATH = '/admin/accounts/new';

const accountForm = z.object({
  email: emailField,
  name: z.string().trim().max(100, 'must have at most 100 characters').default(''),
});

/** Registers the page that creates the account of a customer, who has no password, key or units yet. */
export function registerNewAccount(scope: FastifyInstance, pages: Pages): void {
  scope.get(NEW_PATH, (_request, reply) => showForm(reply, NO_INPUT));
  scope.post(NEW_PATH, onSubmit(accountForm, showForm, create));

  async function create(
    { email, name }: z.output<typeof accountForm>,
    request: FastifyRequest,
  ): Promise<string> {
    const account = await accountActs.create(operatingOf(pages, request), { email, name: name || email });
    if (!account) throw new FormRefused(409, { email: 'already has an account' });
    return `/admin/accounts/${account.id}`;
  }
}

function showForm(reply: FastifyReply, form: FormState, status?: number): FastifyReply {
  return sendPage(
    reply,
    <Page title="New account" back={['/admin/accounts', 'All accounts']} path="/admin/accounts">
      <Card>
        <PostForm action={NEW_PATH} form={form}>
          <EmailField autocomplete="off" />
          <Field name="name" label="Name or company" maxLength={100} hint="Default: the e-mail address." />
          <Submit>Create account</Submit>
        </PostForm>
        <p class="hint">
          On the next page, create a link with which the customer sets a password, and grant units or a plan.
        </p>
      </Card>
    </Page>,
    status,
  );
}

/** Reads the search text, and the item after which the page starts. */
export function readSearch(
  asked: unknown,
  maxLength: number,
): { q: string; before: number | null; query: FormValues } {
  const search = z.object({
    q: z.string().trim().max(maxLength).catch(''),
    before: z.coerce.number().int().positive().safe().nullable().catch(null),
  });
  const { q, before } = search.parse(asked);
  return { q, before, query: { q, before: before === null ? undefined : String(before) } };
}

/** The search form of a list. The link `All` clears the search. */
export function SearchForm(props: {
  path: string;
  label: string;
  q: string;
  maxLength: number;
  placeholder: string;
}): VNode {
  const { path, q, ...field } = props;
  const all = q && <ButtonLink to={path}>All</ButtonLink>;
  return (
    <FilterForm path={path} values={{ q }} button="Search" links={all}>
      <Field name="q" {...field} />
    </FilterForm>
  );
}
