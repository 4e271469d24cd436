import type { FastifyInstance } from 'fastify';
import { z } from 'zod';
import { searchAccounts } from '../../accounts/account-search.ts';
import { Page } from '../kit/layout.tsx';
import { sendPage } from '../kit/render.ts';
import { Time } from '../kit/words.tsx';
import type { Pages } from '../pages.ts';
import { viewerOf } from '../session.ts';
import { AccountTag } from './account-tag.tsx';
import { DataTable } from './data-table.tsx';
import { SearchForm } from './search-form.tsx';

const PAGE = 50;

const search = z.object({
  q: z.string().trim().max(200).catch(''),
  before: z.coerce.number().int().positive().safe().nullable().catch(null),
});

/** Accounts, found by whatever is known of them. */
export function registerAccountSearch(scope: FastifyInstance, { gateway }: Pages): void {
  scope.get('/admin/accounts', async (request, reply) => {
    const { q, before } = search.parse(request.query);
    const accounts = await searchAccounts(gateway.database, { text: q, before, limit: PAGE + 1 });
    const last = accounts.length > PAGE ? accounts[PAGE - 1] : undefined;
    return sendPage(
      reply,
      <Page title="Accounts" viewer={viewerOf(request, reply)} path="/admin/accounts" wide>
        <h1>Accounts</h1>
        <SearchForm
          path="/admin/accounts"
          label="E-mail, name, number, or first letters of a key"
          q={q}
          maxLength={200}
          placeholder="ann@example.com, 17, km_aB3x"
        />
        <DataTable
          label="Accounts"
          empty={q ? 'No account is known by that.' : 'There are no accounts yet.'}
          columns={['#Number', 'E-mail address', 'Name', 'State', 'Made']}
          rows={accounts
            .slice(0, PAGE)
            .map(({ id, email, name, state, createdAt }) => [
              String(id),
              <a href={`/admin/accounts/${id}`}>{email}</a>,
              name,
              <AccountTag state={state} />,
              <Time at={createdAt} />,
            ])}
        />
        {last && (
          <p class="pages">
            <a class="button" href={`/admin/accounts?q=${encodeURIComponent(q)}&before=${last.id}`}>
              Older ones
            </a>
          </p>
        )}
      </Page>,
    );
  });
}
