import type { FastifyInstance } from 'fastify';
import type { VNode } from 'preact';
import { z } from 'zod';
import { TABLE_FORMAT_NAMES, type TableFormat } from '../../operations/tables/formats.ts';
import {
  AUDIT_ACTIONS,
  AUDIT_COLUMNS,
  type AuditAction,
  auditLines,
  auditRows,
  changeText,
  type StoredLine,
} from '../../operator/audit.ts';
import { writeTable } from '../../results/tables/write-table.ts';
import { ButtonLink } from '../kit/elements.tsx';
import { Choice, Field, FilterForm } from '../kit/form.tsx';
import { digits, type FormState, readForm, requireFilter } from '../kit/form-request.ts';
import { addressOf, day, ListPage, lastDay, optional, pageOf } from '../kit/list-page.tsx';
import { sendFile, sendPage } from '../kit/render.tsx';
import { tableOf } from '../kit/table.tsx';
import { Dash, Time } from '../kit/words.tsx';
import type { Pages } from '../pages.ts';

const PATH = '/admin/audit';

const LINES_A_PAGE = 50;

const actions = Object.keys(AUDIT_ACTIONS) as [AuditAction, ...AuditAction[]];

/** The filter in the query of the address. */
const filter = z.object({
  action: optional(z.enum(actions, 'must be an action of the list')),
  accountId: optional(digits('must be an account number')),
  operator: optional(z.string().trim().max(100, 'must have at most 100 characters')),
  from: day,
  to: lastDay,
  before: optional(digits('must be the number of a line')),
});

/** Registers the audit log, as a page and as a table. */
export function registerAudit(scope: FastifyInstance, { database }: Pages): void {
  scope.get(PATH, async (request, reply) => {
    const form = readForm(filter, request.query);
    const { before, ...asked } = form.ok ? form.input : {};
    const found = form.ok ? await auditLines(database, asked, { before, limit: LINES_A_PAGE + 1 }) : [];
    const { action, accountId, operator, from, to, before: cursor } = form.values;
    const filters = { action, accountId, operator, from, to };
    const list = pageOf(found, LINES_A_PAGE, { ...filters, before: cursor }, ({ id }) => id);
    return sendPage(
      reply,
      <ListPage
        title="Audit log"
        lead="What operators did in this console and with the command. Lines cannot be changed, and are kept for at least 400 days."
        styles={[]}
        filter={<AuditFilterForm values={filters} faults={form.faults} />}
        path={PATH}
        list={list}
        cursor="before"
      >
        <LineTable rows={list.items} />
      </ListPage>,
      form.ok ? 200 : 400,
    );
  });

  scope.get(`${PATH}.:format(^(?:${TABLE_FORMAT_NAMES.join('|')})$)`, async (request, reply) => {
    const { format } = request.params as { format: TableFormat };
    const rows = auditRows(database, requireFilter(filter, request.query));
    const table = { name: 'audit', columns: AUDIT_COLUMNS };
    return sendFile(reply, { name: 'audit', type: format }, writeTable(format, table, rows));
  });
}

function AuditFilterForm({ values, faults }: FormState): VNode {
  const links = (
    <>
      {Object.values(values).some(Boolean) && <ButtonLink to={PATH}>All lines</ButtonLink>}
      {TABLE_FORMAT_NAMES.map((format) => (
        <ButtonLink key={format} to={addressOf(`${PATH}.${format}`, values)} download>
          {format.toUpperCase()}
        </ButtonLink>
      ))}
    </>
  );
  return (
    <FilterForm path={PATH} values={values} faults={faults} links={links}>
      <Choice name="action" label="Action" options={[['', 'All'], ...Object.entries(AUDIT_ACTIONS)]} />
      <Field name="accountId" label="Account number" />
      <Field name="operator" label="Operator" maxLength={100} />
      <Field name="from" label="From (UTC)" type="date" />
      <Field name="to" label="To (UTC)" type="date" />
    </FilterForm>
  );
}

const LineTable = tableOf<StoredLine>('Audit log', 'No lines found.', [
  ['Time', ({ at }) => <Time at={at} />],
  ['Operator', ({ operator, address }) => (address ? `${operator}, ${address}` : operator)],
  ['Action', ({ action }) => AUDIT_ACTIONS[action]],
  [
    'Account',
    ({ accountId }) =>
      accountId === null ? <Dash /> : <a href={`/admin/accounts/${accountId}`}>{accountId}</a>,
  ],
  ['Target', ({ target }) => target ?? <Dash />, 'long'],
  ['Change', (line) => changeText(line) || <Dash />, 'long'],
]);
