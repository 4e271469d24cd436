import { pipeline, Readable } from 'node:stream';
import { type Stringifier, stringify } from 'csv-stringify';
import type { ClientBase } from 'pg';
import { testAccountOf } from '../accounts/authentication.ts';
import { tokenMark } from '../accounts/operator-token.ts';
import type { Database, Queryable } from '../platform/db/pool.ts';
import { inTransaction } from '../platform/db/transaction.ts';

/** The actions of the audit log, with their names on pages. */
export const AUDIT_ACTIONS = {
  'account.created': 'Account created',
  'account.disabled': 'Account disabled',
  'account.enabled': 'Account enabled',
  'account.email-confirmed': 'E-mail address confirmed',
  'account.two-factor-removed': 'Two-factor sign-in turned off',
  'account.viewed': 'Account viewed as its customer',
  'account.exported': 'Data exported',
  'account.erasure-requested': 'Erasure requested',
  'account.erasure-cancelled': 'Erasure cancelled',
  'password-reset.created': 'Password reset link created',
  'key.created': 'Key created',
  'key.changed': 'Key changed',
  'key.reset': 'Keys reset',
  'key.revoked': 'Keys revoked',
  'subscription.granted': 'Subscription granted',
  'pack.granted': 'Pack granted',
  'purchase.confirmed': 'Purchase confirmed',
  'purchase.cancelled': 'Purchase cancelled',
  'plan.saved': 'Plan saved',
  'offer.saved': 'Pack for sale saved',
  'announcement.created': 'Announcement created',
  'announcement.ended': 'Announcement ended',
  'incident.noted': 'Note to an incident added',
  'report.import-started': 'Import of a report started',
  'report.fetch-started': 'Fetch of a report started',
  'reports.deleted': 'Reports deleted',
  'queue.changed': 'Queue changed',
  'session.refused': 'Operator token refused',
  'account.renamed': 'Account renamed',
  'account.sso-required': 'Single sign-on required or not',
  'member.invited': 'Somebody invited',
  'member.joined': 'Invitation accepted',
  'invitation.withdrawn': 'Invitation withdrawn',
  'purchase.begun': 'Purchase begun',
  'renewal.changed': 'Renewing plan changed',
  'top-up.changed': 'Automatic top-up changed',
  'notices.changed': 'Own notices switched',
  'batch.created': 'Batch created',
  'batch.cancelled': 'Batch cancelled',
  'batch.retried': 'Batch retried',
  'job.cancelled': 'Job cancelled',
  'schedule.created': 'Schedule created',
  'schedule.changed': 'Schedule changed',
  'schedule.run': 'Schedule run',
  'schedule.deleted': 'Schedule deleted',
  'tracker.created': 'Tracker created',
  'tracker.changed': 'Tracker changed',
  'tracker.run': 'Tracker run',
  'tracker.deleted': 'Tracker deleted',
  'webhook.secret-created': 'Signing secret created',
  'webhook.tested': 'Test event sent',
  'webhook.replayed': 'Delivery sent again',
  'person.identity-linked': 'Linked with single sign-on',
  'person.email-followed': 'E-mail address changed by single sign-on',
  'person.signed-in': 'Signed in, in a new browser',
  'person.password-changed': 'Password changed',
  'person.password-reset': 'Password set with a link',
  'person.email-changed': 'Change of the e-mail address requested',
  'person.two-factor-changed': 'Two-factor sign-in turned on or off',
  'member.changed': 'Role of a member set',
  'member.removed': 'Member removed',
  'staff.changed': 'Role in the installation changed',
} as const;

export type AuditAction = keyof typeof AUDIT_ACTIONS;

/** Who acts as the operator. */
export interface Operator {
  channel: 'console' | 'command' | 'page';
  /** `person` and a number, `token` and the start of its digest, or `user@host`. */
  name: string;
  /** The person who has signed in, if there is one. */
  personId?: number;
  /** The network address of a request to the console. */
  address: string | null;
}

/** What an act of the operator needs. */
export interface Operating {
  database: Database;
  operator: Operator;
  now: number;
}

/** A line of the audit log. The values are free of secrets and of personal data. */
export interface AuditLine {
  action: AuditAction;
  accountId?: number;
  /** What was changed, such as the code of a plan. */
  target?: string;
  before?: Record<string, unknown>;
  after?: Record<string, unknown>;
}

/** What an act returns, and its line; null: nothing was done. */
interface Audited<Result> {
  result: Result;
  line: AuditLine | null;
}

/** The most lines about refused sign-ins in an hour, so that guesses from many networks do not fill the database. */
const MAX_REFUSALS_PER_HOUR = 1_000;

/** Executes an act of the operator in a transaction that also writes its line. */
export function audited<Result>(
  { database, operator }: Operating,
  act: (client: ClientBase) => Promise<Audited<Result>>,
): Promise<Result> {
  return inTransaction(database, async (client) => {
    const { result, line } = await act(client);
    if (line) await writeLine(client, operator, line);
    return result;
  });
}

/** Writes the line of an act outside PostgreSQL, or of one that takes several transactions, before the act begins. */
export async function writeLine(database: Queryable, operator: Operator, line: AuditLine): Promise<void> {
  const { channel, name, personId = null, address } = operator;
  const { action, accountId = null, target = null, before = null, after = null } = line;
  await database.query(
    `insert into audit_log (channel, operator, person_id, address, action, account_id, target, before, after)
     values ($1, $2, $3, $4, $5, $6, $7, $8, $9)`,
    [channel, name, personId, address, action, accountId, target, before, after],
  );
}

/** Writes the line of an act of a person on the pages, of an account or (null) of the person alone. */
export async function writeAct(
  database: Queryable,
  personId: number,
  {
    accountId,
    action,
    target = null,
  }: { accountId: number | null; action: AuditAction; target?: string | null },
): Promise<void> {
  await database.query(
    `insert into audit_log (channel, operator, person_id, action, account_id, target) values ('page', $1, $2, $3, $4, $5)`,
    [`person ${personId}`, personId, action, accountId, target],
  );
}

/** The most acts of an account by the API of which lines are written in 24 hours. */
export const ACTS_A_DAY = 10_000;

/** Writes the line of an act by the API: of the person for whom the pages have called it, or of the key of a program. */
export async function writeKeyAct(
  database: Queryable,
  keyHash: Buffer,
  { action, target }: { action: AuditAction; target: string | null },
): Promise<void> {
  await database.query({
    name: 'write-key-act',
    text: `insert into audit_log (channel, operator, person_id, key_id, action, account_id, target)
      select case purpose when 'pages' then 'page' else 'api' end,
        case purpose when 'pages' then 'person ' || person_id else 'key ' || id end,
        case purpose when 'pages' then person_id end, case purpose when 'customer' then id end, $2, account_id, $3
      from api_keys k where hash = $1 and not exists (
        select from (select at from audit_log l where l.account_id = k.account_id order by l.id desc offset ${ACTS_A_DAY} limit 1) as first
        where first.at > clock_timestamp() - interval '1 day')`,
    values: [keyHash, action, target],
  });
}

/** Writes that an incorrect operator token was refused. */
export async function writeRefusal(database: Queryable, address: string): Promise<void> {
  await database.query(
    `insert into audit_log (channel, operator, address, action)
     select 'console', 'unknown', $1, 'session.refused'
     where (select count(*) from audit_log
       where action = 'session.refused' and at > clock_timestamp() - interval '1 hour') < $2`,
    [address, MAX_REFUSALS_PER_HOUR],
  );
}

/** A person with a role in the installation. */
export function personOperator({ personId }: { personId: number }, address: string): Operator {
  return { channel: 'console', name: `person ${personId}`, personId, address };
}

/** The operator who holds the token of ADMIN_TOKEN. */
export function holderOf(adminToken: string, address: string): Operator {
  return { channel: 'console', name: `token ${tokenMark(adminToken)}`, address };
}

/** A line as it is shown. */
export interface StoredLine {
  id: number;
  at: Date;
  channel: 'console' | 'command' | 'page' | 'api';
  operator: string;
  address: string | null;
  action: AuditAction;
  accountId: number | null;
  target: string | null;
  before: Record<string, unknown> | null;
  after: Record<string, unknown> | null;
}

/** Selects lines; absent fields select all. */
interface AuditFilter {
  action?: AuditAction | undefined;
  accountId?: number | undefined;
  /** A part of the operator's name. */
  operator?: string | undefined;
  /** [from, to) */
  from?: Date | undefined;
  to?: Date | undefined;
}

const PAGE_LINES = 1_000;

/** Returns lines, the newest first. @param before the last line of the previous page. */
export async function auditLines(
  database: Queryable,
  { action, accountId, operator, from, to }: AuditFilter,
  { before, limit }: { before?: number | null | undefined; limit: number },
): Promise<StoredLine[]> {
  const { rows } = await database.query<StoredLine>(
    `select l.id, at, channel, coalesce(p.email, operator) as operator, address, action, account_id as "accountId", target, before, after
     from audit_log l left join people p on p.id = l.person_id
     where channel in ('console', 'command') and ($1::text is null or action = $1) and ($2::bigint is null or account_id = $2)
       and ($3::text is null or strpos(coalesce(p.email, operator), $3) > 0)
       and ($4::timestamptz is null or at >= $4) and ($5::timestamptz is null or at < $5)
       and ($6::bigint is null or l.id < $6)
     order by l.id desc limit $7`,
    [action ?? null, accountId ?? null, operator || null, from ?? null, to ?? null, before ?? null, limit],
  );
  return rows;
}

const COLUMNS = [
  'id',
  'at',
  'channel',
  'operator',
  'address',
  'action',
  'accountId',
  'target',
  'before',
  'after',
];

/** The lines as CSV, the newest first. Pages are read while the file is sent. */
export function auditCsv(database: Database, filter: AuditFilter): Stringifier {
  async function* records() {
    let before: number | undefined;
    for (;;) {
      const lines = await auditLines(database, filter, { before, limit: PAGE_LINES });
      yield* lines;
      if (lines.length < PAGE_LINES) return;
      before = lines.at(-1)?.id;
    }
  }
  return asCsv(COLUMNS, records());
}

function asCsv(columns: string[], records: AsyncIterable<object>): Stringifier {
  const csv = stringify({
    header: true,
    columns,
    // Spreadsheets must not run a field as a formula.
    escape_formulas: true,
    cast: { date: (at) => at.toISOString(), object: (values) => JSON.stringify(values) },
  });
  // An error, or a client that disconnects, ends both streams.
  return pipeline(Readable.from(records), csv, () => {});
}

/** What a line changed, as a text such as `state: active -> disabled`. */
export function changeText({ before, after }: Pick<StoredLine, 'before' | 'after'>): string {
  const names = [...new Set([...Object.keys(before ?? {}), ...Object.keys(after ?? {})])];
  const text = (value: unknown) => (typeof value === 'string' ? value : JSON.stringify(value ?? null));
  return names
    .map((name) => {
      const now = text(after?.[name]);
      return before && name in before ? `${name}: ${text(before[name])} -> ${now}` : `${name}: ${now}`;
    })
    .join('; ');
}

/** A line as the members of an account see it. */
export interface AccountLine {
  id: number;
  at: Date;
  action: AuditAction;
  /** The address of a person, the start of a key, or `operator`. */
  actor: string;
  target: string | null;
  /** Whether it was done in the test account. */
  isTest: boolean;
}

/** Selects lines; absent fields select all. */
export interface AccountFilter {
  action?: AuditAction | undefined;
  /** A part of the actor. */
  actor?: string | undefined;
  /** [from, to) */
  from?: Date | undefined;
  to?: Date | undefined;
}

/**
 * Returns the lines of a live account and its test account, and the acts of its members about themselves since they joined. The
 * newest first. Of the operator's acts, the address is left out.
 * @param before the last line of the previous page.
 */
export async function accountLines(
  database: Queryable,
  liveAccountId: number,
  { action, actor, from, to }: AccountFilter,
  { before, limit }: { before?: number | null | undefined; limit: number },
): Promise<AccountLine[]> {
  const { rows } = await database.query<AccountLine>(
    `select * from (
       select l.id, l.at, l.action, l.target, l.account_id is distinct from $1 and l.account_id is not null as "isTest",
         case when l.channel in ('console', 'command') then 'operator'
           else coalesce(p.email, k.prefix || coalesce(' (' || k.name || ')', ''), l.operator) end as actor
       from audit_log l
       left join people p on p.id = l.person_id
       left join api_keys k on k.id = l.key_id
       where (l.account_id = any($2) or (l.account_id is null and exists (
           select from members m where m.account_id = $1 and m.person_id = l.person_id and m.created_at <= l.at)))
         and ($3::text is null or l.action = $3)
         and ($4::timestamptz is null or l.at >= $4) and ($5::timestamptz is null or l.at < $5)
         and ($6::bigint is null or l.id < $6)) as lines
     where $7::text is null or strpos(actor, $7) > 0
     order by id desc limit $8`,
    [
      liveAccountId,
      [liveAccountId, testAccountOf(liveAccountId)],
      action ?? null,
      from ?? null,
      to ?? null,
      before ?? null,
      actor || null,
      limit,
    ],
  );
  return rows;
}

/** Yields the lines of an account page by page. */
export async function* allAccountLines(
  database: Queryable,
  liveAccountId: number,
  filter: AccountFilter,
): AsyncGenerator<AccountLine> {
  let before: number | undefined;
  for (;;) {
    const lines = await accountLines(database, liveAccountId, filter, { before, limit: PAGE_LINES });
    yield* lines;
    if (lines.length < PAGE_LINES) return;
    before = lines.at(-1)?.id;
  }
}

/** The lines of an account as CSV. */
export function linesAsCsv(lines: AsyncIterable<AccountLine>): Stringifier {
  return asCsv(['id', 'at', 'action', 'actor', 'target', 'isTest'], lines);
}
