import { pipeline, Readable } from 'node:stream';
import { type Stringifier, stringify } from 'csv-stringify';
import type { Database } from '../platform/db/pool.ts';
import { type LedgerFilter, walkLedger } from './ledger-lines.ts';

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
export function ledgerCsv(database: Database, accountId: number, filter: LedgerFilter): Stringifier {
  const csv = stringify({
    header: true,
    columns: [...COLUMNS],
    // Spreadsheets must not run a field as a formula; numbers stay numbers.
    escape_formulas: true,
    cast: { number: (value) => ({ value: String(value), escape_formulas: false }) },
  });
  async function* records() {
    for await (const lines of walkLedger(database, accountId, filter)) {
      for (const { id: line, at, ...fields } of lines)
        yield { line, at: new Date(at).toISOString(), ...fields };
    }
  }
  // An error, or a client that disconnects, ends both streams.
  return pipeline(Readable.from(records()), csv, () => {});
}
