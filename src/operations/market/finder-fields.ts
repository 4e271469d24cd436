import { z } from 'zod';
import { GROUP_DOCUMENTATION } from '../params/documentation.ts';
import { type ExactInteger, exactInteger, integerOf } from '../params/exact-integer.ts';
import { didYouMean } from '../params/nearest-name.ts';
import { isRecord } from '../params/request.ts';
import { listProblem, PRINTABLE, problem } from '../params/scalars.ts';
import { got } from '../params/shown-value.ts';
import { finderNames, isSortable, type Kind, kindOf, LIST_MOST, TEXT_MOST } from './finder-names.ts';
import { FILTERS_SCHEMA, SORT_FIELD_PATTERN } from './finder-schema.ts';

/**
 * The filter fields of a selection, which are those of the provider's finder. The canonical input holds the values that
 * are sent upstream: numbers as numbers, lists unique and sorted.
 * @param parameters names beside the filters, to suggest them for misspelt names.
 */
export function filters(parameters: Iterable<string>) {
  const description = 'Filter fields; bounds of ranges end in _gte or _lte';
  const field = z
    .unknown()
    .transform((given, context): Record<string, FilterValue> => {
      const entries = Object.entries(isRecord(given) ? given : {});
      if (entries.length === 0) {
        context.issues.push({
          code: 'custom',
          message: 'must have at least one filter, such as current_SALES_lte',
          input: given,
        });
        return z.NEVER;
      }
      const result: [string, FilterValue][] = [];
      let suggestions = 0;
      for (const [name, value] of entries) {
        const kind = kindOf(name);
        const parsed = kind && KINDS[kind].parse(value);
        if (parsed !== undefined) result.push([name, parsed]);
        else {
          const message = kind
            ? got(`must be ${KINDS[kind].wanted}`, value)
            : `is not a field of the selection${suggestions++ < MOST_SUGGESTIONS ? didYouMean(name, [...parameters, ...finderNames()]) : ''}`;
          context.issues.push({ code: 'custom', message, input: value, path: [name] });
        }
      }
      return Object.fromEntries(result.sort(([a], [b]) => (a < b ? -1 : 1)));
    })
    .meta({ ...FILTERS_SCHEMA, description }) as unknown as z.ZodType<Record<string, FilterValue>>;
  GROUP_DOCUMENTATION.add(field, { description, required: true, schema: FILTERS_SCHEMA, spread: true });
  return field;
}

/** Suggestions compare a name with a thousand others, and a selection may have a thousand fields. */
const MOST_SUGGESTIONS = 3;

export type FilterValue = number | boolean | string | (number | string)[];

const SORT_FIELDS_MOST = 3;

/** Up to three pairs of field and direction. Default: best sales rank first. */
export function sortOrder() {
  const fault = listProblem(`must be a list of at most ${SORT_FIELDS_MOST} pairs [field, "asc" or "desc"]`);
  const field = z
    .string(fault)
    .refine(isSortable, problem('must be a field to sort by'))
    .meta({ pattern: SORT_FIELD_PATTERN, maxLength: 60 });
  return z
    .array(z.tuple([field, z.enum(['asc', 'desc'], fault)], fault), fault)
    .max(SORT_FIELDS_MOST, fault)
    .default([['current_SALES', 'asc']])
    .meta({ description: 'Pairs of field and direction', examples: [[['monthlySold', 'desc']]] });
}

/** The kinds of fields whose values are integers. */
const INTEGERS = new Set<Kind | undefined>(['range', 'number', 'numbers']);

/** Converts filters to upstream's form. */
export function toUpstream(selection: Readonly<Record<string, FilterValue>>): Record<string, unknown> {
  const entries = Object.entries(selection).map(([name, value]): [string, unknown] => {
    if (!INTEGERS.has(kindOf(name))) return [name, value];
    return [name, Array.isArray(value) ? value.map(integerOf) : integerOf(value as ExactInteger)];
  });
  return Object.fromEntries(entries);
}

const KINDS: Record<Kind, { wanted: string; parse(value: unknown): FilterValue | undefined }> = {
  range: { wanted: 'an integer', parse: exactInteger },
  unitRange: { wanted: 'a number', parse: (value) => (typeof value === 'number' ? value : undefined) },
  switch: { wanted: '0, 1, true or false', parse: onOrOff },
  number: { wanted: 'an integer', parse: exactInteger },
  numbers: {
    wanted: `an integer or a list of at most ${LIST_MOST}`,
    parse: (value) => listOf(value, exactInteger),
  },
  text: { wanted: `a text of 1 to ${TEXT_MOST} characters`, parse: shortText },
  texts: { wanted: `a text or a list of at most ${LIST_MOST}`, parse: (value) => listOf(value, shortText) },
};

function onOrOff(value: unknown): boolean | undefined {
  if (value === true || value === 1 || value === '1' || value === 'true') return true;
  return value === false || value === 0 || value === '0' || value === 'false' ? false : undefined;
}

function shortText(value: unknown): string | undefined {
  const text = typeof value === 'string' ? value.trim() : '';
  return text.length > 0 && text.length <= TEXT_MOST && PRINTABLE.test(text) ? text : undefined;
}

function listOf<T extends number | string>(
  value: unknown,
  parse: (item: unknown) => T | undefined,
): T[] | undefined {
  const given: unknown[] = Array.isArray(value) ? value : [value];
  const items = new Set<T>();
  for (const item of given) {
    const parsed = parse(item);
    if (parsed === undefined) return undefined;
    items.add(parsed);
  }
  return items.size === 0 || given.length > LIST_MOST
    ? undefined
    : [...items].sort((a, b) => (a < b ? -1 : 1));
}
