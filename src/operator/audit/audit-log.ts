import type { ClientBase } from 'pg';
import { credentialOf } from '../../accounts/operator-token.ts';
import type { Database, Queryable } from '../../platform/db/pool.ts';
import { inTransaction } from '../../platform/db/transaction.ts';
import type { AuditAction } from './audit-actions.ts';

/** Who acts as the operator. */
export interface Operator {
  channel: 'console' | 'command';
  /** `token` and the start of its digest, or `user@host`. */
  name: string;
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
export interface Audited<Result> {
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
  const { channel, name, address } = operator;
  const { action, accountId = null, target = null, before = null, after = null } = line;
  await database.query(
    `insert into audit_log (channel, operator, address, action, account_id, target, before, after)
     values ($1, $2, $3, $4, $5, $6, $7, $8)`,
    [channel, name, address, action, accountId, target, before, after],
  );
}

/** Writes that an incorrect operator token, or an incorrect code after a correct token, was refused. */
export async function writeRefusal(
  database: Queryable,
  address: string,
  refused: 'token' | 'code' = 'token',
): Promise<void> {
  await database.query(
    `insert into audit_log (channel, operator, address, action, target)
     select 'console', 'unknown', $1, 'session.refused', $3
     where (select count(*) from audit_log
       where action = 'session.refused' and at > clock_timestamp() - interval '1 hour') < $2`,
    [address, MAX_REFUSALS_PER_HOUR, refused === 'code' ? 'code' : null],
  );
}

/** The operator who holds the token of ADMIN_TOKEN. */
export function holderOf(adminToken: string, address: string): Operator {
  return { channel: 'console', name: `token ${credentialOf(adminToken).toString('hex', 0, 4)}`, address };
}
