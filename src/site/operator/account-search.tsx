import type { FastifyInstance } from 'fastify';
import { searchAccounts } from '../../accounts/account-search.ts';
import { ListPage } from '../kit/list-page.tsx';
import { pageOf } from '../kit/paging.tsx';
import { sendPage } from '../kit/render.tsx';
import { Table } from '../kit/table.tsx';
import { Time } from '../kit/words.tsx';
import type { Pages } from '../pages.ts';
import { AccountTag } from './account-tables.tsx';
import { readSearch, SearchForm } from './search.tsx';

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
