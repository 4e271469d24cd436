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

/**
 * Returns a part of an answer that fits a size: entries of a list from an offset, or one value. A value that is still too
 * large is returned as an outline. Other work runs while it reads a large answer.
 * @param answer the JSON text of an envelope.
 * @throws SoukError VALIDATION_FAILED for a path that does not exist.
 */
export async function takePart(
  answer: Buffer,
  { path, offset, fields, series }: Part & { series: SeriesLimits | null },
  limitTokens: number,
): Promise<Record<string, unknown>> {
  const found = await valueAt(answer, path);
  const about = path === '' ? {} : { path };
  const itemAt = async ({ start, end }: Entry): Promise<Item> => {
    const value =
      end - start > PARSED_BYTES
        ? await pickedAt(answer, start, fields)
        : parseJson(answer.toString('utf8', start, end));
    if (value === TOO_LARGE) return { outline: await sizesIn(answer, start) };
    const chosen = picked(value, fields);
    return { value: series ? await compactSeries(chosen, series) : chosen };
  };
  if (kindAt(answer, found.start) === 'list')
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

async function valueAt(answer: Buffer, path: string): Promise<Entry> {
  const names = path === '' ? [] : path.split('.');
  let value: Entry = { name: '', start: 0, end: answer.length };
  for (const [i, name] of ['data', ...names].entries()) {
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
      const place = names.slice(0, i - 1).join('.') || 'the answer';
      const problem = `${place} has no ${name}; it has ${namesIn(kindAt(answer, value.start), count, shown)}`;
      throw invalidParameters([{ parameter: 'path', problem }]);
    }
    value = found;
  }
  return value;
}

function namesIn(kind: ValueKind, count: number, names: readonly string[]): string {
  if (kind === 'list') return `${count} entries`;
  return kind === 'object' ? names.join(', ') : 'no fields';
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null;
}
