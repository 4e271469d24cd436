import { setImmediate as nextImmediate } from 'node:timers/promises';
import { z } from 'zod';
import { integer, text } from '../../operations/params/scalars.ts';
import { invalidParameters } from '../../platform/errors.ts';
import { parseJson, stringifyJson } from '../../platform/json.ts';
import { type Entry, entriesAt, kindAt, type ValueKind } from '../../platform/json-entries.ts';
import { outlineOf, shortened } from '../../results/outline.ts';
import { parseAs } from '../operations/call-options.ts';
import { compactSeries, type SeriesLimits } from './compact-series.ts';
import { compactTables } from './tables.ts';
import { tokensIn } from './token-bound.ts';
import type { Arguments } from './tool.ts';

// Parts of stored answers, for agents whose program cannot read resources.

/** The tool for parts of stored answers. */
export const PARTS_TOOL = 'jobs_get_result';

/** The largest value that a gateway parses for a part. A larger answer is searched for the part, but not parsed. */
export const PARSED_BYTES = 2_097_152;

/** The largest answer that has parts. */
export const DIVISIBLE_BYTES = 67_108_864;

const partSchema = z.object({
  path: text({ maxLength: 300 }).default('').describe('Part of the answer, such as products.0.offers'),
  offset: integer({ min: 0 }).default(0).describe('First entry of the list at path'),
  fields: z
    .array(text({ maxLength: 100 }), 'must be a list of names')
    .max(50)
    .default([])
    .describe('Fields of each entry'),
});

export type Part = z.output<typeof partSchema>;

export { partSchema };

/** Returns the part that a call requests; null if it requests the whole answer. @throws SoukError VALIDATION_FAILED. */
export function partOf({ path, offset, fields }: Arguments): Part | null {
  const given = { path: path ?? undefined, offset: offset ?? undefined, fields: fields ?? undefined };
  if (Object.values(given).every((value) => value === undefined)) return null;
  // A text has at least one character, and an empty path is the default.
  return parseAs(partSchema, path === '' ? { ...given, path: undefined } : given);
}

/** The records of an answer that is not parsed whole. */
export interface Records {
  path: string;
  /** Converts the data of the answer to the form in which they are shown. */
  toolData(data: Record<string, unknown>): Record<string, unknown>;
}

type Requested = Part & {
  series: SeriesLimits | null;
  /** null: the values are shown as they are. */
  records: Records | null;
};

/**
 * Returns a part of an answer that fits a size: entries of a list from an offset, or one value. A value that is still too
 * large is returned as an outline. Other work runs while it reads a large answer.
 * @param answer the JSON text of an envelope.
 * @throws SoukError VALIDATION_FAILED for a path that does not exist.
 */
export async function takePart(
  answer: Buffer,
  requested: Requested,
  limitTokens: number,
): Promise<Record<string, unknown>> {
  const { path, offset, fields, series, records } = requested;
  const data = await valueAt(answer, { name: '', start: 0, end: answer.length }, ['data']);
  if (records && path.startsWith(`${records.path}.`)) {
    const alone = await recordAlone(answer, data, requested, records);
    if (alone) return takePart(alone, { ...requested, records: null }, limitTokens);
  }
  const found = await valueAt(answer, data, namesIn(path));
  const about = path === '' ? {} : { path };
  const isList = kindAt(answer, found.start) === 'list';
  const convert = records?.path === path ? converter(answer, data, records) : null;
  const shown = (value: unknown) => {
    if (!convert || !isObject(value)) return value;
    // The records of some answers are an object, by their ids.
    return isList ? convert(value) : mapValues(value, convert);
  };
  const itemAt = async (entry: Entry): Promise<Item> => {
    const value = await parsedAt(answer, entry, fields);
    if (value === TOO_LARGE) return { outline: await sizesIn(answer, entry.start) };
    const chosen = picked(shown(value), fields);
    return { value: series ? await compactSeries(chosen, series) : chosen };
  };
  if (isList)
    return {
      ...about,
      ...(await pageOf(entriesOf(answer, found.start), itemAt, { path, offset, limitTokens })),
    };
  const item = await itemAt(found);
  if ('outline' in item) return { ...about, ...item, hint: deeper('the outline') };
  const { value } = item;
  // A history becomes a list of points.
  if (Array.isArray(value))
    return {
      ...about,
      ...(await pageOf(value, async (one) => ({ value: one }), { path, offset, limitTokens })),
    };
  return { ...about, ...fitting(value, limitTokens) };
}

/** Returns an answer that has nothing but the record of a part, converted; null if the record is too large to be parsed. */
async function recordAlone(
  answer: Buffer,
  data: Entry,
  { path, fields }: Part,
  records: Records,
): Promise<Buffer | null> {
  const names = namesIn(path);
  const place = names.slice(0, namesIn(records.path).length + 1);
  const [field] = names.slice(place.length);
  const entry = await valueAt(answer, data, place);
  const record = await parsedAt(answer, entry, field === undefined ? fields : [field]);
  if (record === TOO_LARGE) return null;
  return Buffer.from(stringifyJson({ data: nested(place, converter(answer, data, records)(record)) }));
}

/** Returns a function that converts a record of an answer. */
function converter(answer: Buffer, data: Entry, { path, toolData }: Records): (record: unknown) => unknown {
  const head = headOf(answer, data.start);
  const names = namesIn(path);
  return (record) => {
    const converted: unknown = toolData({ ...head, ...nested(names, [record]) });
    const list = names.reduce((value, name) => (isObject(value) ? value[name] : null), converted);
    return Array.isArray(list) ? list[0] : record;
  };
}

/** Returns the values of an object before its first list or object. Those of an answer say of which site it is. */
function headOf(answer: Buffer, at: number): Record<string, unknown> {
  const head: Record<string, unknown> = {};
  for (const entry of entriesAt(answer, at)) {
    // A piece ends within a long value.
    if (!entry || kindAt(answer, entry.start) !== 'other') break;
    head[entry.name] = parseJson(answer.toString('utf8', entry.start, entry.end));
  }
  return head;
}

function nested(names: readonly string[], value: unknown): Record<string, unknown> {
  return names.reduceRight((inner, name) => ({ [name]: inner }), value) as Record<string, unknown>;
}

function namesIn(path: string): string[] {
  return path === '' ? [] : path.split('.');
}

/** A value to show, or the outline of one that is too large to be parsed. */
type Item = { value: unknown } | { outline: unknown };

/** Returns the entries of a list from an offset that fit the size. */
async function pageOf<Source>(
  list: AsyncIterable<Source> | Iterable<Source>,
  itemAt: (source: Source) => Promise<Item>,
  { path, offset, limitTokens }: { path: string; offset: number; limitTokens: number },
): Promise<Record<string, unknown>> {
  const items: unknown[] = [];
  let left = limitTokens;
  let total = 0;
  /** The first entry that does not fit. */
  let next: Item | null = null;
  for await (const source of list) {
    total += 1;
    if (total <= offset || next) continue;
    const item = await itemAt(source);
    left -= 'outline' in item ? limitTokens : costOf(item.value, items[0]);
    if (left < 0 || 'outline' in item) next = item;
    else items.push(item.value);
  }
  const end = offset + items.length;
  const counts = { total, offset, next: next ? end : null };
  if (items.length > 0 || !next) return { ...counts, items: compactTables(items) };
  const at = [...(path === '' ? [] : [path]), String(offset)].join('.');
  const outline = 'outline' in next ? next.outline : outlineWithin(next.value, limitTokens);
  return { ...counts, next: offset + 1, outline, hint: deeper(at) };
}

/** Returns the first of some values that fit a size together. */
export function firstWithin(values: Iterable<unknown>, limitTokens: number): unknown[] {
  const shown: unknown[] = [];
  let left = limitTokens;
  for (const value of values) {
    left -= costOf(value, shown[0]);
    if (left < 0) break;
    shown.push(value);
  }
  return shown;
}

/** Returns the tokens of an entry: of its values alone if it becomes a row of a table, because it has the fields of the first entry. */
function costOf(value: unknown, first: unknown): number {
  const isRow = isObject(value) && isObject(first) && Object.keys(value).join() === Object.keys(first).join();
  return tokensIn(stringifyJson(isRow ? Object.values(value) : value)) + 1;
}

/** Yields the entries of a list or an object. Other work runs after each piece of a long one. */
async function* entriesOf(answer: Buffer, start: number): AsyncGenerator<Entry> {
  for (const entry of entriesAt(answer, start)) {
    if (entry) yield entry;
    else await nextImmediate();
  }
}

function fitting(value: unknown, limitTokens: number): Record<string, unknown> {
  const shown = compactTables(value);
  if (tokensIn(stringifyJson(shown)) <= limitTokens) return { value: shown };
  return { outline: outlineWithin(value, limitTokens), hint: deeper('the outline') };
}

/** Returns an outline that leaves room for what is said about it. */
export function outlineWithin(value: unknown, limitTokens: number): unknown {
  return parseJson(outlineOf(value, (text) => tokensIn(text) <= limitTokens / 2));
}

/** The most names that an outline by sizes or an error has. */
const MOST_NAMES = 30;

/** Returns the outline of a value that is too large to be parsed: the sizes of its first entries. */
async function sizesIn(answer: Buffer, at: number): Promise<Record<string, string>> {
  const sizes: [string, string][] = [];
  for await (const { name, start, end } of entriesOf(answer, at)) {
    sizes.push([shortened(name, 100), `${kindAt(answer, start)} of ${end - start} bytes`]);
    if (sizes.length === MOST_NAMES) break;
  }
  return Object.fromEntries(sizes);
}

function deeper(place: string): string {
  return `The value is too large: request a path below ${place}, or fewer fields. Parts are free.`;
}

/** Instead of a value that is too large to be parsed. */
const TOO_LARGE = Symbol('too large');

/** Returns a value; of one that is too large to be parsed, these fields. */
async function parsedAt(answer: Buffer, { start, end }: Entry, fields: readonly string[]): Promise<unknown> {
  if (end - start > PARSED_BYTES) return pickedAt(answer, start, fields);
  return parseJson(answer.toString('utf8', start, end));
}

/** Returns the object at a position with only these fields. */
async function pickedAt(answer: Buffer, at: number, fields: readonly string[]): Promise<unknown> {
  const found: Entry[] = [];
  if (kindAt(answer, at) === 'object')
    for await (const entry of entriesOf(answer, at)) if (fields.includes(entry.name)) found.push(entry);
  const length = found.reduce((sum, { start, end }) => sum + end - start, 0);
  if (found.length === 0 || length > PARSED_BYTES) return TOO_LARGE;
  return Object.fromEntries(
    found.map(({ name, start, end }) => [name, parseJson(answer.toString('utf8', start, end))]),
  );
}

function picked(value: unknown, fields: readonly string[]): unknown {
  if (fields.length === 0 || !isObject(value)) return value;
  return Object.fromEntries(
    fields.filter((name) => Object.hasOwn(value, name)).map((name) => [name, value[name]]),
  );
}

async function valueAt(answer: Buffer, from: Entry, names: readonly string[]): Promise<Entry> {
  let value = from;
  for (const [i, name] of names.entries()) {
    let found: Entry | null = null;
    const shown: string[] = [];
    let count = 0;
    for await (const entry of entriesOf(answer, value.start)) {
      count += 1;
      if (shown.length < MOST_NAMES) shown.push(shortened(entry.name, 100));
      if (entry.name !== name) continue;
      found = entry;
      break;
    }
    if (!found) {
      const place = names.slice(0, i).join('.') || 'the answer';
      const problem = `${place} has no ${name}; it has ${contentsOf(kindAt(answer, value.start), count, shown)}`;
      throw invalidParameters([{ parameter: 'path', problem }]);
    }
    value = found;
  }
  return value;
}

function contentsOf(kind: ValueKind, count: number, names: readonly string[]): string {
  if (kind === 'list') return `${count} entries`;
  return kind === 'object' ? names.join(', ') : 'no fields';
}

function mapValues(values: Record<string, unknown>, change: (value: unknown) => unknown): typeof values {
  return Object.fromEntries(Object.entries(values).map(([name, value]) => [name, change(value)]));
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null;
}
