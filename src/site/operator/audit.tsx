import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { VNode } from 'preact';
import { z } from 'zod';
import {
  AUDIT_ACTIONS,
  type AuditAction,
  auditCsv,
  auditLines,
  changeText,
  type StoredLine,
} from '../../operator/audit.ts';
import { SoukError } from '../../platform/errors.ts';
import { ButtonLink } from '../kit/elements.tsx';
import { Choice, Field, FilterForm } from '../kit/form.tsx';
import { type FormState, readForm } from '../kit/form-request.ts';
import { addressOf, ListPage, optional, pageOf } from '../kit/list-page.tsx';
import { sendPage } from '../kit/render.tsx';
import { tableOf } from '../kit/table.tsx';
import { Dash, Time } from '../kit/words.tsx';
import type { Pages } from '../pages.ts';

const PATH = '/admin/audit';

const LINES_A_PAGE = 50;
const DAY_MS = 86_400_000;

const actions = Object.keys(AUDIT_ACTIONS) as [AuditAction, ...AuditAction[]];
const number = (problem: string) =>
  z
    .string()
    .regex(/^\d{1,15}$/, problem)
    .transform(Number);
const day = optional(z.iso.date('must be a date such as 2027-05-01').transform((text) => new Date(text)));

/** The filter in the query of the address. Both days are included. */
const filter = z
  .object({
    action: optional(z.enum(actions, 'must be an action of the list')),
    accountId: optional(number('must be an account number')),
    operator: optional(z.string().trim().max(100, 'must have at most 100 characters')),
    from: day,
    to: day,
    before: optional(number('must be the number of a line')),
  })
  .transform(({ to, ...rest }) => ({ ...rest, to: to && new Date(to.getTime() + DAY_MS) }));

/** Registers the audit log, as a page and as CSV. */
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

  scope.get('/admin/audit.csv', async (request: FastifyRequest, reply: FastifyReply) => {
    const form = readForm(filter, request.query);
    if (!form.ok) {
      const problems = Object.entries(form.faults).map(([name, problem]) => `${name} ${problem}`);
      throw new SoukError('VALIDATION_FAILED', { message: `${problems.join('; ')}.` });
    }
    return reply
      .type('text/csv; charset=utf-8')
      .header('cache-control', 'no-store')
      .header('content-disposition', 'attachment; filename="audit.csv"')
      .send(auditCsv(database, form.input));
  });
}

function AuditFilterForm({ values, faults }: FormState): VNode {
  const links = (
    <>
      {Object.values(values).some(Boolean) && <ButtonLink to={PATH}>All lines</ButtonLink>}
      <a class="button push" href={addressOf('/admin/audit.csv', values)}>
        Export CSV
      </a>
    </>
  );
  return (
    <FilterForm path={PATH} values={values} faults={faults} links={links}>
      <Choice name="action" label="Action" options={[['', 'All'], ...Object.entries(AUDIT_ACTIONS)]} />
      <Field name="accountId" label="Account number" />
      <Field name="operator" label="Operator" maxLength={100} />
      <Field name="from" label="From" type="date" />
      <Field name="to" label="To" type="date" />
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
