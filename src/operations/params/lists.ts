import type { z } from 'zod';
import type { JsonSchema } from './documentation.ts';
import { Fault, type Group, grouped } from './request.ts';
import { got } from './shown-value.ts';

export interface ListRule {
  /** The name of one item in messages. */
  item: string;
  max: number;
  /** Schema of one item for the documentation; `parse` accepts every value that matches it. */
  schema: JsonSchema;
  /** Normalises an item, or returns a fault. */
  parse(item: string): string | Fault;
  /** Sorts items whose order does not matter, so that the same items in another order are the same request. */
  sorted: boolean;
}

/**
 * Several values under one or more names, as a JSON list, a repeated query parameter, or separated by commas. The values
 * of all names are combined; duplicates count once.
 */
export function list(rule: ListRule, description: string): z.ZodType<string[]>;
export function list(
  rule: ListRule,
  description: string,
  options: { required: false } | { unless: string },
): z.ZodType<string[] | undefined>;
export function list(
  rule: ListRule,
  description: string,
  options: { required?: boolean; unless?: string } = {},
) {
  const { required = true, unless } = options;
  const isOptional = !required || unless !== undefined;
  const { schema: items, max: maxItems } = rule;
  const examples = items.examples ? [[items.examples[0]]] : [];
  const schema: JsonSchema = { type: 'array', items, minItems: 1, maxItems, examples };
  return grouped<string[] | undefined>(
    (given) => (isOptional && Object.keys(given).length === 0 ? undefined : resolve(given, rule)),
    { description, required, schema, ...(unless ? { unless } : {}) },
  );
}

/** One ASIN, in either case. */
export const ASIN_SCHEMA: JsonSchema = {
  type: 'string',
  pattern: '^[A-Za-z0-9]{10}$',
  minLength: 10,
  maxLength: 10,
  examples: ['B08N5WRWNX'],
};

/** Parses an ASIN: 10 letters or digits, in upper case. */
export function parseAsin(item: string): string | Fault {
  const asin = item.toUpperCase();
  return /^[A-Z0-9]{10}$/.test(asin) ? asin : new Fault('must be 10 letters or digits');
}

/** Limits the length of a list with duplicates, to bound the work that one request can cause. */
const LONGEST_RAW_LIST = 20_000;

function resolve(given: Group, rule: ListRule): string[] | Fault {
  const raw = Object.values(given).flat();
  const wanted = `must be 1 to ${rule.max} ${rule.item}s`;
  if (raw.length === 0) return new Fault(`is required: it ${wanted}, as a list or separated by commas`);
  if (raw.length > LONGEST_RAW_LIST) return new Fault(`${wanted}, got ${raw.length}`);
  const items = new Set<string>();
  let position = 0;
  for (const entry of raw) {
    if (typeof entry !== 'string') return new Fault(got(`item ${position + 1} must be a text`, entry));
    for (const part of entry.split(',')) {
      const item = part.trim();
      if (item === '') continue;
      position += 1;
      const value = rule.parse(item);
      if (value instanceof Fault)
        return new Fault(`${got(`item ${position} ${value.problem}`, item)}${value.hint}`);
      items.add(value);
    }
  }
  if (items.size === 0) return new Fault(`is empty: it ${wanted}`);
  if (items.size > rule.max) return new Fault(`${wanted}, got ${items.size}`);
  return rule.sorted ? [...items].sort() : [...items];
}
