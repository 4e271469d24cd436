import type { ClientBase } from 'pg';
import { tokenMark } from '../accounts/operator-token.ts';
import { columnsFrom } from '../operations/tables/columns.ts';
import type { Database, Queryable } from '../platform/db/pool.ts';
import { inTransaction } from '../platform/db/transaction.ts';

/** The actions on an account and of its members, with their names on pages. */
export const ACCOUNT_ACTIONS = {
  'account.created': 'Account created',
  'account.renamed': 'Account renamed',
  'account.disabled': 'Account disabled',
  'account.enabled': 'Account enabled',
  'account.viewed': 'Account viewed as its customer',
  'account.exported': 'Data exported',
  'account.erasure-requested': 'Erasure requested',
  'account.erasure-cancelled': 'Erasure cancelled',
  'account.email-confirmed': 'E-mail address of the owner confirmed',
  'account.two-factor-removed': 'Two-factor sign-in turned off by the operator',
  'account.sso-required': 'Requirement of single sign-on changed',
  'password-reset.created': 'Password reset link created',
  'member.invited': 'Person invited',
  'invitation.withdrawn': 'Invitation withdrawn',
  'member.joined': 'Invitation accepted',
  'member.changed': 'Role of a member set',
  'member.removed': 'Member removed',
  'member.left': 'Member deleted their profile',
  'connection.created': 'Program connected',
  'connection.changed': 'Connection changed',
  'connection.revoked': 'Connection revoked',
  'key.created': 'Key created',
  'key.changed': 'Key changed',
  'key.reset': 'Keys reset',
  'key.revoked': 'Keys revoked',
  'subscription.granted': 'Subscription granted',
  'pack.granted': 'Pack granted',
  'purchase.begun': 'Purchase begun',
  'purchase.confirmed': 'Purchase confirmed',
  'purchase.cancelled': 'Purchase cancelled',
  'renewal.changed': 'Renewing plan changed',
  'top-up.changed': 'Automatic top-up changed',
  'notices.changed': 'Own notices changed',
  'batch.created': 'Batch created',
  'batch.cancelled': 'Batch cancelled',
  'batch.retried': 'Batch retried',
  'job.cancelled': 'Job cancelled',
  'link.created': 'Link to a result created',
  'link.revoked': 'Link to a result revoked',
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
  'person.signed-in': 'Signed in from a new browser',
  'person.password-changed': 'Password changed',
  'person.password-reset': 'Password set with a link',
  'person.email-changed': 'Change of the e-mail address requested',
  'person.email-confirmed': 'E-mail address confirmed',
  'person.two-factor-changed': 'Two-factor sign-in turned on or off',
  'acts.omitted': 'Further acts of the day are not listed',
} as const;

/** The other actions of the operator. */
const INSTALLATION_ACTIONS = {
  'plan.saved': 'Plan saved',
  'offer.saved': 'Pack for sale saved',
  'reduction.created': 'Coupon or discount created',
  'reduction.ended': 'Coupon or discount ended',
  'alert.silenced': 'Silence of an alert changed',
  'announcement.created': 'Announcement created',
  'announcement.ended': 'Announcement ended',
  'note.added': 'Note to an account added',
  'note.deleted': 'Note to an account deleted',
  'incident.noted': 'Note to an incident added',
  'report.import-started': 'Import of a report started',
  'report.fetch-started': 'Fetch of a report started',
  'reports.deleted': 'Reports deleted',
  'provider-account.added': 'Account at the data provider added',
  'provider-account.changed': 'Account at the data provider changed',
  'provider-account.removed': 'Account at the data provider removed',
  'queue.changed': 'Queue changed',
  'session.refused': 'Operator token refused',
  'staff.changed': 'Role in the installation changed',
  'identity.unlinked': 'Person unlinked from the identity of single sign-on',
  backup: 'Backup made',
  restore: 'Restored from a backup',
  'admission.opened': 'Calls admitted again after a recovery',
} as const;

/** The actions of the audit log, with their names on pages. */
export const AUDIT_ACTIONS = { ...ACCOUNT_ACTIONS, ...INSTALLATION_ACTIONS };

export type AuditAction = keyof typeof AUDIT_ACTIONS;

/** Who acts as the operator. */
export interface Operator {
  channel: 'console' | 'command';
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

/**
 * Executes an act of the operator like `audited`. One that returns null or false has done nothing, and has no line.
 * @param line of the act, or returns it from the result.
 */
export function auditedAs<Result>(
  by: Operating,
  act: (client: ClientBase) => Promise<Result>,
  line: AuditLine | ((result: Exclude<Result, null | false>) => AuditLine | null),
): Promise<Result> {
  return audited(by, async (client) => {
    const result = await act(client);
    if (result === null || result === false) return { result, line: null };
    return {
      result,
      line: typeof line === 'function' ? line(result as Exclude<Result, null | false>) : line,
    };
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
  channel: 'console' | 'command';
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

/** The lines that a file reads at a time. */
export const PAGE_LINES = 1_000;

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

/** The columns of the audit log of the installation. */
export const AUDIT_COLUMNS = columnsFrom({
  id: ['integer', 'Later lines have higher numbers'],
  at: ['time', 'When it was done'],
  channel: ['text', 'console or command'],
  operator: ['text', 'Who did it: an e-mail address, a token or a user of the machine'],
  address: ['text', 'Network address of a request to the console'],
  action: ['text', 'What was done, such as plan.saved'],
  accountId: ['integer', 'Number of the account'],
  target: ['text', 'What was changed, such as the code of a plan'],
  before: ['text', 'The values before, as JSON'],
  after: ['text', 'The values after, as JSON'],
});

/** Yields all lines that a filter selects, the newest first. Pages are read while the rows are. */
export async function* auditRows(database: Database, filter: AuditFilter): AsyncGenerator<StoredLine> {
  let before: number | undefined;
  for (;;) {
    const lines = await auditLines(database, filter, { before, limit: PAGE_LINES });
    yield* lines;
    if (lines.length < PAGE_LINES) return;
    before = lines.at(-1)?.id;
  }
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
