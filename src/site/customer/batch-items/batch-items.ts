import Papa from 'papaparse';
import { parametersOf } from '../../../api/openapi/parameters.ts';
import type { QueuedOperation } from '../../../operations/define.ts';
import { queuedOperation } from '../../../operations/index.ts';
import { DOMAIN_NAMES } from '../../../operations/params/domain.ts';
import { parseJson } from '../../../platform/json.ts';
import type { FormFaults, FormValues } from '../../kit/form-request.ts';

/** The operation and items of a batch, in the form of the API. */
export interface BatchItems {
  operation: string;
  items?: unknown[];
  params?: Record<string, string>;
  split?: Record<string, string[]>;
}

/** The fields of a form that hold the operation and its items. */
export const BATCH_ITEMS_FIELDS = ['operation', 'layout', 'items', 'parameter', 'params'] as const;

/** Formats of the text that holds the items. */
export const LAYOUTS = {
  list: 'One value per line, such as ASINs',
  table: 'CSV with parameter names in the first line',
  ndjson: 'One JSON object per line',
} as const;

/** Reads the operation and its items from a form. The API validates the items. */
export function readBatchItems(
  values: FormValues,
): { ok: true; batchItems: BatchItems } | { ok: false; faults: FormFaults } {
  const { operation: name = '', layout = 'list', items = '', parameter, params: common } = values;
  const operation = queuedOperation(name);
  if (!operation) return { ok: false, faults: { operation: 'must be chosen' } };
  try {
    const params = readPairs(common ?? '');
    if (items.trim() === '') throw new Misread('items', 'must have at least one line');
    if (layout === 'table')
      return { ok: true, batchItems: { operation: name, items: merged(params, rowsOf(items)) } };
    if (layout === 'ndjson')
      return { ok: true, batchItems: { operation: name, items: merged(params, objectsOf(items)) } };
    const listed = parameter?.trim() || listParameterOf(operation);
    if (!listed) throw new Misread('parameter', `${name} has no list parameter; choose another format`);
    const split = { [listed]: valuesOf(items, operation, listed) };
    return { ok: true, batchItems: { operation: name, params, split } };
  } catch (error) {
    if (error instanceof Misread) return { ok: false, faults: { [error.field]: error.message } };
    throw error;
  }
}

/** The default list parameter: the one the operation requires besides its site. */
export function listParameterOf(operation: QueuedOperation): string | undefined {
  if (operation.pack) return operation.pack.fields[0];
  const names: readonly string[] = DOMAIN_NAMES;
  return parametersOf(operation.params).find(({ name, required }) => required && !names.includes(name))?.name;
}

/** A fault of a field. */
class Misread extends Error {
  readonly field: string;

  constructor(field: string, message: string) {
    super(message);
    this.field = field;
  }
}

/** Reads one `name=value` pair per line. */
function readPairs(text: string): Record<string, string> {
  const pairs: Record<string, string> = {};
  for (const line of linesOf(text)) {
    const [, name, value] = /^([^=\s]+)\s*=\s*(.*)$/.exec(line) ?? [];
    if (name === undefined || value === undefined)
      throw new Misread('params', `must have one name=value per line, got ${JSON.stringify(line)}`);
    pairs[name] = value;
  }
  return pairs;
}

/** Reads one value per line. Values without spaces, such as ASINs, may also share a line. */
function valuesOf(text: string, operation: QueuedOperation, parameter: string): string[] {
  const field = parametersOf(operation.params).find(({ name }) => name === parameter);
  const { pattern } = (field?.schema.items ?? field?.schema ?? {}) as { pattern?: string };
  const hasSpaces = pattern === undefined || pattern.includes('\\s');
  return hasSpaces ? linesOf(text) : text.split(/[\s,;]+/).filter((value) => value !== '');
}

function rowsOf(text: string): Record<string, unknown>[] {
  const { data, errors } = Papa.parse<Record<string, string>>(text.trim(), {
    header: true,
    skipEmptyLines: true,
  });
  const [error] = errors.filter(({ type }) => type !== 'Delimiter');
  if (error) throw new Misread('items', `line ${(error.row ?? 0) + 2}: ${error.message.toLowerCase()}`);
  if (data.length === 0)
    throw new Misread('items', 'must have a line of parameter names and at least one line of values');
  return data.map((row) => Object.fromEntries(Object.entries(row).filter(([, value]) => value !== '')));
}

function objectsOf(text: string): Record<string, unknown>[] {
  return linesOf(text).map((line, i) => {
    const value = parsed(line);
    if (typeof value === 'object' && value !== null && !Array.isArray(value))
      return value as Record<string, unknown>;
    throw new Misread('items', `line ${i + 1} must be a JSON object such as {"domain":1}`);
  });
}

function parsed(line: string): unknown {
  try {
    return parseJson(line);
  } catch {
    return undefined;
  }
}

function merged(params: Record<string, string>, items: readonly Record<string, unknown>[]): unknown[] {
  return items.map((item) => ({ ...params, ...item }));
}

function linesOf(text: string): string[] {
  return text
    .split(/\r?\n/)
    .map((line) => line.trim())
    .filter((line) => line !== '');
}
