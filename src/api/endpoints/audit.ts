import { z } from 'zod';
import { SCHEMA_NAMES } from '../../operations/answers.ts';
import { date, integer, isInOrder, NOT_IN_ORDER, oneOf, text } from '../../operations/params/scalars.ts';
import {
  ACCOUNT_ACTION_NAMES,
  ACCOUNT_AUDIT_COLUMNS,
  accountLines,
  allAccountLines,
} from '../../operator/account-audit.ts';
import type { Clock } from '../../platform/clock.ts';
import type { Database } from '../../platform/db/pool.ts';
import { DAY_MS } from '../../platform/durations.ts';
import { sendEnvelope } from '../envelope.ts';
import { enveloped } from '../openapi/responses.ts';
import { formatOf, isTableRequest, tableFormat } from '../operations/call-options.ts';
import { sendTable } from '../send-results.ts';
import { endpoint } from './endpoint.ts';
import { cutPage, pageOf } from './page.ts';

const lineSchema = z
  .object({
    id: z.int().describe('Later lines have higher ids'),
    at: z.iso.datetime(),
    action: z.string().describe('What was done, such as `key.created`'),
    actor: z
      .string()
      .describe('E-mail address of the person, start and name of the key, or `operator` for the operator'),
    personId: z.int().nullable().describe('The person who acted on the pages'),
    keyId: z.int().nullable().describe('The key with which a program acted'),
    target: z.string().nullable().describe('What was changed, such as the id of a batch'),
    isTest: z.boolean().describe('Whether it was done in the test account'),
  })
  .register(SCHEMA_NAMES, { id: 'AuditLine' });

const listAuditLog = endpoint({
  tag: 'audit',
  method: 'get',
  path: '/api/audit',
  scopes: ['keys'],
  summary: 'Lists what people and keys did in the account, newest first.',
  description:
    'Lists what people did on the pages of the account and keys did by the API, and what the operator did with the account, newest first. Calls are in the list of calls, and not here. With another `format`, or its media type in Accept, the answer is a table of all lines that match.',
  occupies: (request) => (isTableRequest(request) ? 'downloads' : 'waiting'),
  query: z
    .object({
      action: oneOf(ACCOUNT_ACTION_NAMES).optional().describe('Only this action'),
      actor: text({ maxLength: 100 })
        .optional()
        .describe('Only lines whose actor contains this text')
        .meta({ examples: ['ann@example.com'] }),
      from: date().optional().describe('First day (UTC)'),
      to: date().optional().describe('Last day (UTC), included'),
      cursor: integer({ min: 1, max: Number.MAX_SAFE_INTEGER })
        .optional()
        .describe('nextCursor of the previous page'),
      limit: integer({ min: 1, max: 200 }).default(50).describe('Lines per page'),
      format: tableFormat(),
    })
    .refine(isInOrder, NOT_IN_ORDER),
  answers: { 200: enveloped('A page of lines', pageOf('AuditPage', 'audit', lineSchema)) },

  async handle(
    { database, clock }: { database: Database; clock: Clock },
    { account, query, request, reply },
  ) {
    const { action, actor, from, to, cursor: before, limit } = query;
    const filter = {
      action,
      actor,
      from: from === undefined ? undefined : new Date(from),
      to: to === undefined ? undefined : new Date(Date.parse(to) + DAY_MS),
    };
    const form = formatOf(request);
    if (form) {
      const rows = allAccountLines(database, account.accountId, filter);
      const table = { name: 'audit', columns: ACCOUNT_AUDIT_COLUMNS };
      return sendTable(reply, form.format, table, rows, clock.now());
    }
    const found = await accountLines(database, account.accountId, filter, { before, limit: limit + 1 });
    const { entries, nextCursor } = cutPage(found, limit, ({ id }) => String(id));
    return sendEnvelope(reply, 200, { audit: entries, nextCursor });
  },
});

/** The audit log of an account, for keys that may manage keys. */
export const AUDIT_ENDPOINTS = [listAuditLog];
