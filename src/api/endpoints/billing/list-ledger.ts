import { z } from 'zod';
import { ledgerCsv } from '../../../billing/ledger-csv.ts';
import { LEDGER_KINDS, type LedgerLine, ledgerLines } from '../../../billing/ledger-lines.ts';
import { SCHEMA_NAMES } from '../../../operations/answers/schema-names.ts';
import { QUEUED_NAMES } from '../../../operations/index.ts';
import { date } from '../../../operations/params/dates.ts';
import { integer, oneOf } from '../../../operations/params/scalars.ts';
import type { Database } from '../../../platform/db/pool.ts';
import { sendEnvelope, setFacts } from '../../envelope.ts';
import { enveloped } from '../../openapi/responses.ts';
import { endpoint } from '../endpoint.ts';
import { cutPage, pageOf } from '../page.ts';

const WALLETS = ['general', 'off_peak'] as const;
const DAY_MS = 86_400_000;

const lineSchema = z
  .object({
    line: z.int().describe('Later lines have higher numbers'),
    at: z.iso.datetime(),
    kind: z.enum(LEDGER_KINDS),
    wallet: z.enum(WALLETS),
    source: z.enum(['subscription', 'pack']).describe('What the units belong to'),
    sourceId: z.int(),
    callId: z
      .uuid()
      .nullable()
      .describe('The call, which is also the id of its job; null for a line of no call'),
    operation: z.string().nullable().describe('The operation of the call, as long as the call is kept'),
    units: z.int().describe('Units that the line moves'),
    change: z
      .int()
      .describe(
        'Change of the units that can be spent; 0 for a settlement, because the reservation took its units',
      ),
    keyId: z.int().nullable().describe('The key of the call; null for calls of the pages and unknown keys'),
    keyPrefix: z.string().nullable().describe('The start of that key'),
  })
  .register(SCHEMA_NAMES, { id: 'LedgerLine' });

export const listLedger = endpoint({
  tag: 'billing',
  method: 'get',
  path: '/api/ledger',
  tool: 'billing_ledger',
  summary: 'Lists the movements of the units of the account, newest first.',
  description:
    'Lists the movements of the units of the account, newest first. With `format=csv` the answer is a table of all lines that match, text/csv.',
  occupies: 'downloads',
  query: z
    .object({
      kind: oneOf(LEDGER_KINDS).optional().describe('Only lines of this kind'),
      wallet: oneOf(WALLETS).optional().describe('Only lines of this wallet'),
      operation: oneOf(QUEUED_NAMES).optional().describe('Only lines of calls of this operation'),
      from: date().optional().describe('First day (UTC)'),
      to: date().optional().describe('Last day (UTC), included'),
      limit: integer({ min: 1, max: 1_000 }).default(100).describe('Lines per page'),
      cursor: integer({ min: 1 })
        .optional()
        .meta({ description: 'Number of the last line of the previous page', examples: [1234] }),
      format: oneOf(['json', 'csv']).default('json').describe('Form of the answer'),
    })
    .refine(({ from, to }) => from === undefined || to === undefined || from <= to, {
      path: ['to'],
      message: 'must not be before the first day',
    })
    .refine(({ format, cursor }) => format === 'json' || cursor === undefined, {
      path: ['cursor'],
      message: 'can be used with format=json only',
    }),
  answers: { 200: enveloped('A page of lines', pageOf('LedgerPage', 'ledger', lineSchema)) },

  async handle({ database }: { database: Database }, { account: { accountId }, query, reply }) {
    const { kind, wallet, operation, from, to, limit, cursor, format } = query;
    const filter = {
      ...{ kind, wallet, operation },
      from: from === undefined ? undefined : Date.parse(from),
      to: to === undefined ? undefined : Date.parse(to) + DAY_MS,
    };
    if (format === 'csv') {
      setFacts(reply);
      return reply.type('text/csv; charset=utf-8').send(ledgerCsv(database, accountId, filter));
    }
    const found = await ledgerLines(database, accountId, { limit: limit + 1, before: cursor, filter });
    const { entries, nextCursor } = cutPage(found, limit, ({ id }) => String(id));
    return sendEnvelope(reply, 200, { ledger: entries.map(lineView), nextCursor });
  },
});

function lineView({ id: line, at, ...rest }: LedgerLine): z.output<typeof lineSchema> {
  return { line, at: new Date(at).toISOString(), ...rest };
}
