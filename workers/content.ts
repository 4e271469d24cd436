import type { Mode } from '../src/accounts/test-accounts.ts';
import { project } from '../src/operations/answer-fields.ts';
import type { Presented, QueuedOperation, Table } from '../src/operations/define.ts';
import { formOf } from '../src/operations/params/answer-form.ts';
import type { ErrorKind } from '../src/platform/errors.ts';
import { stringifyJson } from '../src/platform/json.ts';
import { stringifyJsonBytes } from '../src/platform/json-bytes.ts';
import { type AnswerMeta, INLINE_LIMIT_BYTES } from '../src/results/answer.ts';
import type { Answer } from '../src/results/answer-store.ts';
import { packAfter } from '../src/results/compression.ts';
import { csvOf } from '../src/results/csv.ts';
import { inMode } from '../src/results/envelope.ts';
import { outlineOf } from '../src/results/outline.ts';

/** The answer of an operation, ready to be stored. */
export interface Content {
  contentType: string;
  compressible: boolean;
  units: number;
  /** The beginning of the body, which says whether the data came from the cache. */
  beginning(fromCache: boolean): Buffer;
  rest: Buffer;
  /** An outline of the data. */
  outline?(): string;
}

const NOTHING = Buffer.alloc(0);

/** What an answer depends on besides its input and data. */
export interface Circumstances {
  mode: Mode;
  /** Unix milliseconds. */
  now: number;
  /** When stale data were fetched; Unix milliseconds. */
  staleSince: number | null;
  /** The errors of sources that the answer lacks, by key. */
  failures: ReadonlyMap<string, ErrorKind>;
}

/** Writes what an operation presents. */
export async function present(
  operation: QueuedOperation,
  input: unknown,
  found: ReadonlyMap<string, unknown>,
  { mode, now, staleSince, failures }: Circumstances,
): Promise<Content> {
  const { respond, price } = operation;
  const units = price.quote(input);
  if (respond.type === 'png') {
    const [picture] = found.values();
    return {
      contentType: 'image/png',
      compressible: false,
      units,
      beginning: () => NOTHING,
      rest: picture as Buffer,
    };
  }
  const presented = respond.present(found, input, { now, failures });
  const { fields, format } = formOf(input);
  const charged = price.settle ? price.settle(input, presented) : units;
  if (format === 'csv' && operation.table) return tableContent(operation.table, input, presented, charged);
  const shown = fields ? project(respond, presented.data, fields) : presented.data;
  const metadata = metadataText({
    ...presented.metadata,
    ...(staleSince === null ? {} : staleness(staleSince, now)),
  });
  // Copying a large answer would block the event loop, so its first byte, a brace, is replaced in place.
  const data = await stringifyJsonBytes(shown, `${metadata}}`);
  const isEmpty = data[1] === '}'.charCodeAt(0);
  if (!isEmpty) data.write(',');
  return {
    contentType: 'application/json; charset=utf-8',
    compressible: true,
    units: charged,
    beginning: (fromCache) =>
      Buffer.from(inMode(mode, `{"code":"0000","msg":"success","data":{"fromCache":${fromCache}`)),
    rest: isEmpty ? data.subarray(1) : data,
    outline: () => outlineOf(shown),
  };
}

function tableContent(
  { columns, rows }: Table<unknown>,
  input: unknown,
  { data }: Presented,
  units: number,
): Content {
  const names = columns(input);
  const lines = rows(data, input).map((row) => names.map((name) => row[name]));
  return {
    contentType: 'text/csv; charset=utf-8',
    compressible: true,
    units,
    beginning: () => NOTHING,
    rest: Buffer.from(csvOf([names, ...lines])),
  };
}

/**
 * Compresses the content if that saves space. @returns a function that creates the stored answer from its metadata.
 */
export async function packed({
  contentType,
  compressible,
  beginning,
  rest,
  outline,
}: Content): Promise<(facts: AnswerFacts) => Answer> {
  const pack = compressible ? await packAfter(rest) : () => ({ encoding: 'identity' as const, bytes: rest });
  return (facts) => {
    const begin = beginning(facts.fromCache);
    const { encoding, bytes } = pack(begin);
    const size = begin.length + rest.length;
    // Gateways do not parse large answers, so the worker writes their outlines.
    const summary = outline && size > INLINE_LIMIT_BYTES ? { outline: outline() } : {};
    return { meta: { ...facts, contentType, encoding, size, ...summary }, body: bytes };
  };
}

type AnswerFacts = Pick<AnswerMeta, 'version' | 'fetchedAt' | 'updatedAt' | 'fromCache' | 'units' | 'tokens'>;

function metadataText(metadata: Record<string, unknown>): string {
  return Object.keys(metadata).length > 0 ? `,"metadata":${stringifyJson(metadata)}` : '';
}

/** Returns the fields that an answer with stale data has. */
function staleness(fetchedAt: number, now: number): Record<string, unknown> {
  const ageSeconds = Math.floor((now - fetchedAt) / 1000);
  return { stale: true, fetchedAt: new Date(fetchedAt).toISOString(), ageSeconds };
}
