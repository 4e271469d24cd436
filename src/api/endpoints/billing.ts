import { z } from 'zod';
import { LEDGER_KINDS, type LedgerLine, ledgerLines, ledgerRows } from '../../billing/ledger-lines.ts';
import { dailyUse, dailyUseByKey } from '../../billing/statement.ts';
import { WALLETS } from '../../operations/account/quota.ts';
import { SCHEMA_NAMES } from '../../operations/answers.ts';
import { QUEUED_NAMES } from '../../operations/index.ts';
import { date, integer, isInOrder, NOT_IN_ORDER, oneOf } from '../../operations/params/scalars.ts';
import { columnsOf } from '../../operations/tables/columns.ts';
import { addDays } from '../../platform/calendar.ts';
import type { Clock } from '../../platform/clock.ts';
import type { Database } from '../../platform/db/pool.ts';
import { DAY_MS } from '../../platform/durations.ts';
import { invalidParameters } from '../../platform/errors.ts';
import { sendEnvelope } from '../envelope.ts';
import { enveloped } from '../openapi/responses.ts';
import { formatOf, isTableRequest, tableFormat } from '../operations/call-options.ts';
import { sendTable } from '../send-results.ts';
import { endpoint } from './endpoint.ts';
import { cutPage, pageOf } from './page.ts';

const DEFAULT_DAYS = 30;
const MOST_DAYS = 366;

const usageRow = z
  .object({
    day: z.iso.date().describe('Day (UTC) on which the calls were accepted'),
    operation: z.string(),
    calls: z.int().describe('Calls, the failed and the open ones included'),
    units: z.int().describe('Units charged'),
  })
  .register(SCHEMA_NAMES, { id: 'DailyUsage' });

const keyUsageRow = z
  .object({
    day: z.iso.date().describe('Day (UTC) on which the calls were accepted'),
    keyId: z.int().nullable().describe('Id of the key; null for calls of the pages and unknown keys'),
    keyPrefix: z.string().nullable().describe('The start of the key'),
    keyName: z.string().nullable(),
    calls: z.int().describe('Calls, the failed and the open ones included'),
    units: z.int().describe('Units charged'),
  })
  .register(SCHEMA_NAMES, { id: 'DailyUsageOfKey' });

const usageSchema = z
  .object({
    from: z.iso.date(),
    to: z.iso.date(),
    calls: z.int().describe('Calls of the whole period'),
    units: z.int().describe('Units charged for the whole period'),
    usage: z
      .array(z.union([usageRow, keyUsageRow]))
      .describe('By day and operation, or by day and key with by=key'),
  })
  .register(SCHEMA_NAMES, { id: 'Usage' });

interface BillingDeps {
  database: Database;
  clock: Clock;
}

const USAGE_COLUMNS = columnsOf(usageRow, ['day', 'operation', 'calls', 'units'], {
  operation: 'Operation of the calls',
});

const KEY_USAGE_COLUMNS = columnsOf(keyUsageRow, ['day', 'keyId', 'keyPrefix', 'keyName', 'calls', 'units'], {
  keyName: 'Name of the key',
});

const getUsage = endpoint({
  tag: 'billing',
  method: 'get',
  path: '/api/usage',
  tool: 'billing_usage',
  summary: 'Returns the calls and charged units of the account by day, and by operation or key.',
  description:
    'Returns the calls and charged units of the account by day and operation, or by day and key. With another `format`, or its media type in Accept, the answer is a table.',
  query: z.object({
    from: date()
      .optional()
      .describe(`First day (UTC); default: ${DEFAULT_DAYS - 1} days before the last`),
    to: date().optional().describe('Last day (UTC), included; default: today'),
    by: oneOf(['operation', 'key']).default('operation').describe('What each day is divided by'),
    format: tableFormat(),
  }),
  answers: { 200: enveloped('The usage', usageSchema) },

  async handle({ database, clock }: BillingDeps, { account, query, request, reply }) {
    const to = query.to ?? new Date(clock.now()).toISOString().slice(0, 10);
    const from = query.from ?? addDays(to, 1 - DEFAULT_DAYS);
    requirePeriod(from, to);
    const period = { from: Date.parse(from), to: Date.parse(to) + DAY_MS };
    const isByKey = query.by === 'key';
    const usage = await (isByKey ? dailyUseByKey : dailyUse)(database, account.accountId, period);
    const form = formatOf(request);
    if (form) {
      const table = { name: 'usage', columns: isByKey ? KEY_USAGE_COLUMNS : USAGE_COLUMNS };
      return sendTable(reply, form.format, table, usage, clock.now());
    }
    const sumOf = (field: 'calls' | 'units') => usage.reduce((sum, one) => sum + one[field], 0);
    return sendEnvelope(reply, 200, { from, to, calls: sumOf('calls'), units: sumOf('units'), usage });
  },
});

/** Before and after these days, years have no four digits, or reach them when days are added. */
const EARLIEST = '1900-01-01';
const LATEST = '9000-12-31';

/** @throws SoukError VALIDATION_FAILED for an impossible, an empty or a too long period. */
function requirePeriod(from: string, to: string): void {
  if (to < EARLIEST || to > LATEST)
    throw invalidParameters([
      { parameter: 'to', problem: `must be a date from ${EARLIEST} to ${LATEST}, got ${to}` },
    ]);
  const days = (Date.parse(to) - Date.parse(from)) / DAY_MS + 1;
  if (days >= 1 && days <= MOST_DAYS) return;
  const problem =
    days < 1
      ? `must not be after the last day, ${to}, got ${from}`
      : `must be at most ${MOST_DAYS - 1} days before the last day, ${to}, got ${from}`;
  throw invalidParameters([{ parameter: 'from', problem }]);
}

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

const LEDGER_COLUMNS = columnsOf(
  lineSchema,
  [
    'line',
    'at',
    'kind',
    'wallet',
    'source',
    'sourceId',
    'callId',
    'operation',
    'units',
    'change',
    'keyId',
    'keyPrefix',
  ],
  {
    at: 'When the units moved',
    kind: `What moved them: ${LEDGER_KINDS.join(', ')}`,
    wallet: `Wallet: ${WALLETS.join(' or ')}`,
    sourceId: 'Id of the subscription or pack',
    change:
      'Change of the units that can be spent. The changes of all lines of packs add up to the units left in them',
  },
);

const listLedger = endpoint({
  tag: 'billing',
  method: 'get',
  path: '/api/ledger',
  tool: 'billing_ledger',
  summary: 'Lists the movements of the units of the account, newest first.',
  description:
    'Lists the movements of the units of the account, newest first. With another `format`, or its media type in Accept, the answer is a table of all lines that match.',
  occupies: (request) => (isTableRequest(request) ? 'downloads' : 'waiting'),
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
      format: tableFormat(),
    })
    .refine(isInOrder, NOT_IN_ORDER)
    .refine(({ format = 'json', cursor }) => format === 'json' || cursor === undefined, {
      path: ['cursor'],
      message: 'can be used with format=json only',
    }),
  answers: { 200: enveloped('A page of lines', pageOf('LedgerPage', 'ledger', lineSchema)) },

  async handle({ database, clock }: BillingDeps, { account: { accountId }, query, request, reply }) {
    const { kind, wallet, operation, from, to, limit, cursor } = query;
    const filter = {
      kind,
      wallet,
      operation,
      from: from === undefined ? undefined : Date.parse(from),
      to: to === undefined ? undefined : Date.parse(to) + DAY_MS,
    };
    const form = formatOf(request);
    if (form) {
      const rows = ledgerRows(database, accountId, filter);
      return sendTable(reply, form.format, { name: 'ledger', columns: LEDGER_COLUMNS }, rows, clock.now());
    }
    const found = await ledgerLines(database, accountId, { limit: limit + 1, before: cursor, filter });
    const { entries, nextCursor } = cutPage(found, limit, ({ id }) => String(id));
    return sendEnvelope(reply, 200, { ledger: entries.map(lineView), nextCursor });
  },
});

function lineView({ id: line, at, ...rest }: LedgerLine): z.output<typeof lineSchema> {
  return { line, at: new Date(at).toISOString(), ...rest };
}

/** What the account has used, and every movement of its units. */
export const BILLING_ENDPOINTS = [getUsage, listLedger];
