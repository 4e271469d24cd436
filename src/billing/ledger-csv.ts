import { Readable } from 'node:stream';
import { stringify } from 'csv-stringify/sync';
import type { Database } from '../platform/db/pool.ts';
import { type LedgerFilter, type LedgerLine, walkLedger } from './ledger-lines.ts';

const COLUMNS = [
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
] as const;

/**
 * An account's ledger as CSV, the newest line first. Pages are read while the file is sent. The column `change` of the
 * lines of packs adds up to the units left in them.
 */
export function ledgerCsv(database: Database, accountId: number, filter: LedgerFilter): Readable {
  async function* pieces() {
    let head = `${COLUMNS.join()}\n`;
    // With the first lines, so that an error before them is answered as an error.
    for await (const lines of walkLedger(database, accountId, filter)) {
      yield head + rowsOf(lines);
      head = '';
    }
    if (head !== '') yield head;
  }
  return Readable.from(pieces(), { highWaterMark: 1 });
}

function rowsOf(lines: readonly LedgerLine[]): string {
  const records = lines.map(({ id: line, at, ...fields }) => ({
    ...{ line, at: new Date(at).toISOString() },
    ...fields,
  }));
  return stringify(records, {
    columns: [...COLUMNS],
    // Spreadsheets must not run a field as a formula; numbers stay numbers.
    escape_formulas: true,
    cast: { number: (value) => ({ value: String(value), escape_formulas: false }) },
  });
}
