import { createHash } from 'node:crypto';
import { type QueuedOperation, tableOf } from '../operations/define.ts';
import type { ErrorRecord } from '../platform/error-record.ts';
import { ERRORS } from '../platform/errors.ts';
import { fingerprint } from '../platform/fingerprint.ts';
import { stringifyJson } from '../platform/json.ts';
import { csvOf } from '../results/csv.ts';

/** The answer to a call of a batch, before it is split into the results of its items. */
export interface CallAnswer {
  data: Record<string, unknown>;
  metadata?: Record<string, unknown>;
}

/** The result of one item. */
export interface ItemResult {
  index: number;
  raw: unknown;
  data: Record<string, unknown>;
  metadata: Record<string, unknown> | undefined;
}

/** Splits the answer to a call: each item gets the answer it would have got by itself. */
export function itemResults(
  operation: QueuedOperation,
  call: { firstItem: number; items: readonly unknown[] },
  { data, metadata }: CallAnswer,
): ItemResult[] {
  const { pack } = operation;
  return call.items.map((raw, i) => ({
    index: call.firstItem + i,
    raw,
    data: pack && call.items.length > 1 ? pack.pick(data, operation.params.parse(raw)) : data,
    metadata,
  }));
}

/** Returns NDJSON with one line for each item, in the form of its envelope. */
export function resultLines(results: readonly ItemResult[]): string {
  return results
    .map(({ index, raw, data, metadata }) => {
      const line = { index, params: raw, code: '0000', data };
      return `${stringifyJson(metadata ? { ...line, metadata } : line)}\n`;
    })
    .join('');
}

/** Returns the same for items without a result. */
export function failureLines(
  call: { firstItem: number; items: readonly unknown[] },
  { kind, message, metadata }: ErrorRecord,
): string {
  return call.items
    .map((raw, i) => {
      const line = { index: call.firstItem + i, params: raw, code: ERRORS[kind].code, msg: message };
      return `${stringifyJson(metadata ? { ...line, metadata } : line)}\n`;
    })
    .join('');
}

/** Returns the results as CSV rows without a header; null if they do not form a table. */
export function resultRows(
  operation: QueuedOperation,
  input: unknown,
  results: readonly ItemResult[],
): string | null {
  const table = tableOf(operation, input);
  if (!table) return null;
  const columns = table.columns(input);
  const rows = results.flatMap(({ index, data }) =>
    table.rows(data, input).map((row) => [index, ...columns.map((column) => row[column])]),
  );
  return csvOf(rows);
}

/** Returns the header of the CSV. */
export function tableHeader(columns: readonly string[]): string {
  return csvOf([['index', ...columns]]);
}

/** Fields that change even if the content does not. */
const VOLATILE_FIELDS = new Set(['fromCache', 'lastUpdate']);

/** Identifies an item by its parameters. */
export function itemHash(raw: unknown): Buffer {
  return createHash('sha256').update(fingerprint(raw)).digest();
}

/** Identifies the content of an item's result, without the fields that say how fresh it is. */
export function contentHash(data: Record<string, unknown>): Buffer {
  return createHash('sha256')
    .update(fingerprint(withoutVolatile(data)))
    .digest();
}

function withoutVolatile(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutVolatile);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).flatMap(([name, inner]) =>
      VOLATILE_FIELDS.has(name) ? [] : [[name, withoutVolatile(inner)]],
    ),
  );
}
