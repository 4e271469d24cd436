import { pipeline, Readable } from 'node:stream';
import { type Stringifier, stringify } from 'csv-stringify';
import type { Database, Queryable } from '../../platform/db/pool.ts';
import type { AuditAction } from './audit-actions.ts';

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
export interface AuditFilter {
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
    `select id, at, channel, operator, address, action, account_id as "accountId", target, before, after
     from audit_log
     where ($1::text is null or action = $1) and ($2::bigint is null or account_id = $2)
       and ($3::text is null or strpos(operator, $3) > 0)
       and ($4::timestamptz is null or at >= $4) and ($5::timestamptz is null or at < $5)
       and ($6::bigint is null or id < $6)
     order by id desc limit $7`,
    [action ?? null, accountId ?? null, operator || null, from ?? null, to ?? null, before ?? null, limit],
  );
  return rows;
}

const COLUMNS = [
  ...['id', 'at', 'channel', 'operator', 'address', 'action', 'accountId', 'target', 'before', 'after'],
];

/** The lines as CSV, the newest first. Pages are read while the file is sent. */
export function auditCsv(database: Database, filter: AuditFilter): Stringifier {
  const csv = stringify({
    header: true,
    columns: COLUMNS,
    // Spreadsheets must not run a field as a formula.
    escape_formulas: true,
    cast: { date: (at) => at.toISOString(), object: (values) => JSON.stringify(values) },
  });
  async function* records() {
    let before: number | undefined;
    for (;;) {
      const lines = await auditLines(database, filter, { before, limit: PAGE_LINES });
      yield* lines;
      if (lines.length < PAGE_LINES) return;
      before = lines.at(-1)?.id;
    }
  }
  // An error, or a client that disconnects, ends both streams.
  return pipeline(Readable.from(records()), csv, () => {});
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
