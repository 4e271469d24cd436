import { stringifyJson } from '../platform/json.ts';

/** The limits of an outline. */
interface Measure {
  /** First items of a list. */
  items: number;
  /** First fields of an object. */
  fields: number;
  /** Characters of a text. */
  text: number;
  depth: number;
}

/** Limits to try in order until the outline is small enough. */
const MEASURES: readonly Measure[] = [
  { items: 3, fields: 30, text: 120, depth: 6 },
  { items: 2, fields: 20, text: 60, depth: 5 },
  { items: 1, fields: 12, text: 40, depth: 4 },
  { items: 1, fields: 6, text: 20, depth: 3 },
  { items: 0, fields: 12, text: 20, depth: 2 },
];

/** The maximum length of an outline, in characters. */
const LONGEST = 4_000;

/**
 * Returns the outline of a large answer, a JSON text of a few kilobytes: the same structure, with lists cut to their first
 * items and the number of omitted items.
 * @param fits returns whether a text that is short enough is also small enough for its reader.
 */
export function outlineOf(data: unknown, fits: (text: string) => boolean = () => true): string {
  for (const measure of MEASURES) {
    const text = stringifyJson(cut(data, measure, measure.depth));
    if (text.length <= LONGEST && fits(text)) return text;
  }
  return '{}';
}

/** Shortens a text to its first characters and three dots, without splitting a surrogate pair. */
export function shortened(text: string, length: number): string {
  return text.length > length ? `${text.slice(0, length).replace(/[\uD800-\uDBFF]$/, '')}...` : text;
}

function cut(value: unknown, measure: Measure, depth: number): unknown {
  if (typeof value === 'string') return shortened(value, measure.text);
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return cutList(value, measure, depth);
  const names = Object.keys(value);
  if (depth === 0) return `{${names.length} fields}`;
  const shown = names.slice(0, measure.fields);
  const result = Object.fromEntries(
    shown.map((name) => [name, cut((value as Record<string, unknown>)[name], measure, depth - 1)]),
  );
  const left = names.length - shown.length;
  return left > 0 ? { ...result, '...': `${left} more fields` } : result;
}

function cutList(list: readonly unknown[], measure: Measure, depth: number): unknown {
  if (depth === 0) return `[${list.length} items]`;
  const shown = list.slice(0, measure.items).map((item) => cut(item, measure, depth - 1));
  const left = list.length - shown.length;
  return left > 0 ? [...shown, `... ${left} more of ${list.length}`] : shown;
}
