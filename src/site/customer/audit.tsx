import { Readable } from 'node:stream';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { TABLE_FORMAT_NAMES, type TableFormat } from '../../operations/tables/formats.ts';
import {
  ACCOUNT_ACTION_NAMES,
  ACCOUNT_AUDIT_COLUMNS,
  type AccountFilter,
  type AccountLine,
  accountLines,
  allAccountLines,
} from '../../operator/account-audit.ts';
import { ACCOUNT_ACTIONS } from '../../operator/audit.ts';
import { writeTable } from '../../results/tables/write-table.ts';
import { ButtonLink, Tag } from '../kit/elements.tsx';
import { Choice, Field, FilterForm } from '../kit/form.tsx';
import { digits, readForm, requireFilter } from '../kit/form-request.ts';
import { addressOf, day, ListPage, lastDay, optional, pageOf } from '../kit/list-page.tsx';
import { sendFile, sendPage } from '../kit/render.tsx';
import { tableOf } from '../kit/table.tsx';
import { Dash, Time } from '../kit/words.tsx';
import { type Pages, requireAble } from '../pages.ts';
import { customerOf } from '../session.ts';

const PATH = '/account/audit';

const LINES_A_PAGE = 50;

/** The filter in the query of the address. */
const filter = z.object({
  action: optional(z.enum(ACCOUNT_ACTION_NAMES, 'must be an action of the list')),
  actor: optional(z.string().trim().max(100, 'must have at most 100 characters')),
  from: day,
  to: lastDay,
  before: optional(digits('must be the number of a line')),
});

/** Registers the audit log of an account, as a page, a table and JSON, for those who manage its people. */
export function registerAccountAudit(scope: FastifyInstance, { database }: Pages): void {
  scope.addHook('preHandler', async (request) => {
    const { role, isStaff } = customerOf(request);
    if (!isStaff) requireAble(role, 'people');
  });

  scope.get(PATH, async (request, reply) => showLines(database, request, reply));
  scope.get(`${PATH}.:format(^(?:${TABLE_FORMAT_NAMES.join('|')})$)`, async (request, reply) => {
    const { format } = request.params as { format: TableFormat };
    const table = { name: 'audit', columns: ACCOUNT_AUDIT_COLUMNS };
    return sendLines(reply, format, writeTable(format, table, linesOf(request)));
  });
  scope.get(`${PATH}.json`, async (request, reply) =>
    sendLines(reply, 'json', Readable.from(jsonOf(linesOf(request)))),
  );

  function linesOf(request: FastifyRequest): AsyncGenerator<AccountLine> {
    const asked: AccountFilter = requireFilter(filter, request.query);
    return allAccountLines(database, customerOf(request).liveAccountId, asked);
  }
}

async function showLines(database: Pages['database'], request: FastifyRequest, reply: FastifyReply) {
  const form = readForm(filter, request.query);
  const { before, ...asked } = form.ok ? form.input : {};
  const { liveAccountId } = customerOf(request);
  const found = form.ok
    ? await accountLines(database, liveAccountId, asked, { before, limit: LINES_A_PAGE + 1 })
    : [];
  const { action, actor, from, to, before: cursor } = form.values;
  const filters = { action, actor, from, to };
  const list = pageOf(found, LINES_A_PAGE, { ...filters, before: cursor }, ({ id }) => id);
  const links = [...TABLE_FORMAT_NAMES, 'json'].map((type) => (
    <ButtonLink key={type} to={addressOf(`${PATH}.${type}`, filters)} download>
      {type.toUpperCase()}
    </ButtonLink>
  ));
  return sendPage(
    reply,
    <ListPage
      title="Audit log"
      lead="What people and keys did in this account. Lines cannot be changed, and are kept for at least 400 days."
      styles={[]}
      filter={
        <FilterForm path={PATH} values={filters} faults={form.faults} links={links}>
          <Choice name="action" label="Action" options={[['', 'All'], ...Object.entries(ACCOUNT_ACTIONS)]} />
          <Field name="actor" label="Person or key" maxLength={100} />
          <Field name="from" label="From (UTC)" type="date" />
          <Field name="to" label="To (UTC)" type="date" />
        </FilterForm>
      }
      path={PATH}
      list={list}
      cursor="before"
    >
      <LineTable rows={list.items} />
    </ListPage>,
    form.ok ? 200 : 400,
  );
}

async function* jsonOf(lines: AsyncIterable<AccountLine>): AsyncGenerator<string> {
  let separator = '[';
  for await (const line of lines) {
    yield `${separator}\n${JSON.stringify(line)}`;
    separator = ',';
  }
  yield separator === '[' ? '[]\n' : '\n]\n';
}

function sendLines(reply: FastifyReply, type: TableFormat | 'json', body: Readable): FastifyReply {
  const { liveAccountId } = customerOf(reply.request);
  return sendFile(reply, { name: `souk-audit-${liveAccountId}`, type }, body);
}

const LineTable = tableOf<AccountLine>('Audit log', 'No lines match the filter.', [
  ['Time', ({ at }) => <Time at={at} />],
  ['Who', ({ actor }) => actor, 'row'],
  [
    'What',
    ({ action, isTest }) => (
      <>
        {ACCOUNT_ACTIONS[action]} {isTest && <Tag>Test</Tag>}
      </>
    ),
  ],
  ['Target', ({ target }) => target ?? <Dash />],
]);
