import { z } from 'zod';
import { integer, text } from '../../operations/params/scalars.ts';
import { invalidParameters } from '../../platform/errors.ts';
import { parseJson, stringifyJson } from '../../platform/json.ts';
import { inTurns, stringifyJsonBytes } from '../../platform/json-bytes.ts';
import { outlineOf } from '../../results/outline.ts';
import { parseAs } from '../request-input.ts';
import { compactSeries, type SeriesLimits } from './compact-series.ts';
import type { Arguments } from './tool.ts';

/** Parts of stored answers, for agents whose program cannot read resources. */

/** The largest answer that a gateway parses for a part. */
export const DIVISIBLE_BYTES = 2_097_152;

const partSchema = z.object({
  path: text({ maxLength: 300 })
    .default('')
    .describe(
      'Part of the answer, such as products.0.csv.1; with it, offset or fields, large answers come in parts',
    ),
  offset: integer({ min: 0 })
    .default(0)
    .describe('First entry of the list at path; the last part has its successor as next'),
  fields: z
    .array(text({ maxLength: 100 }), 'must be a list of names')
    .max(50)
    .default([])
    .describe('Fields to return of each entry'),
});

export type Part = z.output<typeof partSchema>;

export { partSchema };

/** Returns the part that a call requests; null if it requests the whole answer. @throws SoukError VALIDATION_FAILED. */
export function partOf({ path, offset, fields }: Arguments): Part | null {
  const given = { path: path ?? undefined, offset: offset ?? undefined, fields: fields ?? undefined };
  if (Object.values(given).every((value) => value === undefined)) return null;
  return parseAs(partSchema, given);
}

/**
 * Returns a part of an answer that fits a size: entries of a list from an offset, or one value. A value that is still too
 * large is returned as an outline. While it reads a large value, other work has its turns.
 * @throws SoukError VALIDATION_FAILED for a path that does not exist.
 */
export async function takePart(
  data: unknown,
  { path, offset, fields, series }: Part & { series: SeriesLimits },
  limitBytes: number,
): Promise<Record<string, unknown>> {
  const found = valueAt(data, path);
  const shown = (value: unknown) => inTurns(compactSeries(picked(value, fields), series));
  const value = Array.isArray(found) ? found : await shown(found);
  const about = path === '' ? {} : { path };
  if (!Array.isArray(value)) return { ...about, ...(await fitting(value, limitBytes)) };
  const items: unknown[] = [];
  let bytes = 0;
  for (const entry of value.slice(offset)) {
    const item = await shown(entry);
    bytes += stringifyJson(item).length + 1;
    if (bytes > limitBytes) break;
    items.push(item);
  }
  const end = offset + items.length;
  const counts = { total: value.length, offset, next: end < value.length ? end : null };
  if (items.length > 0 || offset >= value.length) return { ...about, ...counts, items };
  const at = [...(path === '' ? [] : [path]), String(offset)].join('.');
  const outline = parseJson(outlineOf(await shown(value[offset])));
  return { ...about, ...counts, next: offset + 1, outline, hint: deeper(at) };
}

async function fitting(value: unknown, limitBytes: number): Promise<Record<string, unknown>> {
  if ((await stringifyJsonBytes(value)).length <= limitBytes) return { value };
  return { outline: parseJson(outlineOf(value)), hint: deeper('the outline') };
}

function deeper(place: string): string {
  return `The value is too large: request a path below ${place}, or fewer fields.`;
}

function picked(value: unknown, fields: readonly string[]): unknown {
  if (fields.length === 0 || !isObject(value)) return value;
  return Object.fromEntries(
    fields.filter((name) => Object.hasOwn(value, name)).map((name) => [name, value[name]]),
  );
}

function valueAt(data: unknown, path: string): unknown {
  let value = data;
  for (const [i, name] of (path === '' ? [] : path.split('.')).entries()) {
    if (isObject(value) && Object.hasOwn(value, name)) {
      value = value[name];
      continue;
    }
    const place = path.split('.').slice(0, i).join('.') || 'the answer';
    const problem = `${place} has no ${name}; it has ${namesIn(value)}`;
    throw invalidParameters([{ parameter: 'path', problem }]);
  }
  return value;
}

function namesIn(value: unknown): string {
  if (Array.isArray(value)) return `${value.length} entries`;
  return isObject(value) ? Object.keys(value).slice(0, 30).join(', ') : 'no fields';
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null;
}
