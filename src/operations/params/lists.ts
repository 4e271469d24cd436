import type { z } from 'zod';
import { Fault, type Group, grouped, type JsonSchema } from './request.ts';
import { got, integer } from './scalars.ts';

const WANTED = 'must be one ASIN (10 letters or digits)';

/** A required ASIN. Needs `asin: ['asin']` among the groups of the request. */
export function requiredAsin() {
  return grouped<string>(
    ({ asin }) => (asin === undefined ? new Fault(`is required: it ${WANTED}`) : asinOf(asin)),
    { description: 'ASIN', required: true, schema: ASIN_SCHEMA },
  );
}

/** An optional ASIN. An empty value is an error and never means "all". */
export function optionalAsin(description: string) {
  return grouped<string | undefined>(({ asin }) => (asin === undefined ? undefined : asinOf(asin)), {
    description,
    required: false,
    schema: ASIN_SCHEMA,
  });
}

function asinOf(asin: unknown): string | Fault {
  if (Array.isArray(asin)) return new Fault(`was given more than once; it ${WANTED}`);
  const parsed = typeof asin === 'string' ? parseAsin(asin.trim()) : null;
  return typeof parsed === 'string' ? parsed : new Fault(got(WANTED, asin));
}

interface ListRule {
  /** The name of one item in messages. */
  item: string;
  max: number;
  /** The fewest items. Default: 1. */
  min?: number;
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
  const { schema: items, min: minItems = 1, max: maxItems } = rule;
  const examples = items.examples ? [items.examples.slice(0, minItems)] : [];
  const schema: JsonSchema = { type: 'array', items, minItems, maxItems, examples };
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
  const { min = 1 } = rule;
  const wanted = `must be ${min} to ${rule.max} ${rule.item}s`;
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
  if (items.size < min || items.size > rule.max) return new Fault(`${wanted}, got ${items.size}`);
  return rule.sorted ? [...items].sort() : [...items];
}

/** One UPC, EAN or ISBN. */
export const PRODUCT_CODE_SCHEMA: JsonSchema = {
  type: 'string',
  pattern: '^[0-9Xx-]{8,17}$',
  minLength: 8,
  maxLength: 17,
  examples: ['4006381333931'],
};

/** Parses a UPC, an EAN or an ISBN with a valid check digit, without hyphens. An ISBN of 10 digits becomes one of 13. */
export function parseProductCode(item: string): string | Fault {
  const code = item.replaceAll('-', '').toUpperCase();
  const isIsbn10 = /^\d{9}[\dX]$/.test(code);
  if (!isIsbn10 && !/^(?:\d{8}|\d{12}|\d{13})$/.test(code))
    return new Fault('must be a UPC (12 digits), an EAN (8 or 13 digits) or an ISBN (10 or 13 digits)');
  const digits = code.slice(0, -1);
  const expected = isIsbn10 ? isbn10CheckDigit(digits) : gtinCheckDigit(digits);
  if (!code.endsWith(expected)) return new Fault(`must end with the check digit ${expected}`);
  return isIsbn10 ? `978${digits}${gtinCheckDigit(`978${digits}`)}` : code;
}

/** Returns the check digit of a UPC, an EAN or an ISBN of 13 digits. @param digits the code without it. */
export function gtinCheckDigit(digits: string): string {
  const sum = digits
    .split('')
    .reverse()
    .reduce((total, digit, i) => total + Number(digit) * (i % 2 === 0 ? 3 : 1), 0);
  return String((10 - (sum % 10)) % 10);
}

function isbn10CheckDigit(digits: string): string {
  const sum = digits.split('').reduce((total, digit, i) => total + Number(digit) * (10 - i), 0);
  const check = (11 - (sum % 11)) % 11;
  return check === 10 ? 'X' : String(check);
}

/** The requested page of a long list; without either field the full list. */
export interface Paging {
  page?: number | undefined;
  perPage?: number | undefined;
}

interface Pagination {
  page: number;
  perPage: number;
  total: number;
  totalPages: number;
}

const DEFAULT_PER_PAGE = 1000;
const LARGEST_PER_PAGE = 10_000;

/** The paging parameters of lists that are returned in full by default. */
export function paging() {
  return {
    page: integer({ min: 0 }).optional().describe('Page, from 0; enables paging'),
    perPage: integer({ min: 1, max: LARGEST_PER_PAGE })
      .optional()
      .describe(`Entries per page, default ${DEFAULT_PER_PAGE}; enables paging`),
  };
}

/** Fills in the missing one of the two fields, so that equal pages are the same call. */
export function completePaging<Input extends Paging>(input: Input): Input {
  if (input.page === undefined && input.perPage === undefined) return input;
  return { ...input, page: input.page ?? 0, perPage: input.perPage ?? DEFAULT_PER_PAGE };
}

/** Returns the requested page's range in lists of this length; null when the full list was requested. */
export function pageOf(total: number, { page, perPage }: Paging) {
  if (page === undefined || perPage === undefined) return null;
  const pagination: Pagination = { page, perPage, total, totalPages: Math.ceil(total / perPage) };
  return {
    pagination,
    cut: <Entry>(list: readonly Entry[]): Entry[] => list.slice(page * perPage, (page + 1) * perPage),
  };
}
