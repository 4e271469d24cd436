import { group } from 'd3-array';
import Papa from 'papaparse';
import type { ComponentChildren, VNode } from 'preact';
import type { z } from 'zod';
import { parametersOf } from '../../api/openapi/parameters.ts';
import type { Operation, QueuedOperation } from '../../operations/define.ts';
import { QUEUED, queuedOperation } from '../../operations/index.ts';
import { DOMAIN_NAMES, SITES } from '../../operations/params/domain.ts';
import { parseJson } from '../../platform/json.ts';
import { Choice, Field, TextArea } from '../kit/form.tsx';
import { digits, type Form, type FormFaults, type FormValues, readForm } from '../kit/form-request.ts';
import { optional } from '../kit/list-page.tsx';
import { FILE_FORM_BYTES } from './uploads/file-form.ts';

/**
 * The fields of an operation and its items.
 * @param props.keeps a note that says which items an existing schedule keeps. @param props.children further fields.
 */
export function BatchItemsFields(props: { keeps?: string | undefined; children?: ComponentChildren }): VNode {
  const { keeps, children } = props;
  return (
    <fieldset>
      <legend>Operation and items</legend>
      {keeps && <p class="hint">{keeps}</p>}
      <div class="fields">
        <OperationChoice operations={QUEUED} preset="market.product" />
        {children}
        <Choice name="layout" label="Format" options={Object.entries(LAYOUTS)} />
        <div class="whole">
          <TextArea
            name="items"
            label="Items"
            rows={8}
            placeholder={'B0C3CDEF01\nB0C3CDEF02'}
            hint={`Up to ${(children ? FILE_FORM_BYTES : BATCH_FORM_BYTES) / 1024} KiB. The API accepts up to 100,000 items.`}
          />
        </div>
        <TextArea
          name="params"
          label={children ? 'Further parameters' : 'Parameters for all items'}
          {...(children ? {} : { preset: 'domain=1' })}
          rows={3}
          hint="One name=value per line, such as detailLevel=summary."
        />
        <Field
          name="parameter"
          label="List parameter"
          placeholder="asins"
          hint="Default: the parameter that the operation requires, such as asins, term or keyword."
        />
      </div>
    </fieldset>
  );
}

/** Headings of the groups, by the first part of an operation's name. */
const GROUP_NAMES: Record<string, string> = {
  market: 'Market',
  trends: 'Search trends',
  aba: 'Brand analytics',
  research: 'Research',
  account: 'Account',
  retail: 'Retail',
};

/** A select box of operations, by group. */
export function OperationChoice(props: {
  operations: readonly Operation[];
  preset?: string;
  /** Text of the option that chooses no operation; absent: there is no such option. */
  none?: string;
}): VNode {
  const { operations, preset, none } = props;
  const byPrefix = group(operations, ({ name }) => name.split('.')[0] ?? '');
  const groups = [...byPrefix].map(
    ([prefix, members]) =>
      [GROUP_NAMES[prefix] ?? prefix, members.map(({ name }) => [name, name] as const)] as const,
  );
  return (
    <Choice
      name="operation"
      label="Operation"
      options={none === undefined ? [] : [['', none]]}
      groups={groups}
      {...(preset === undefined ? {} : { preset })}
    />
  );
}

/** Limit of the forms of batches and schedules: tens of thousands of ASINs. */
export const BATCH_FORM_BYTES = 512 * 1024;

export const optionalNumber = optional(digits('must be a whole number'));

export const WINDOWS = [
  ['any', 'At any time'],
  ['off_peak', 'Off-peak hours only'],
] as const;

export function windowText(window: string): string | undefined {
  return WINDOWS.find(([name]) => name === window)?.[1];
}

/**
 * Reads a form that has the items of a batch among its fields, and reports the faults of all fields together.
 * @param keepsItems whether the form leaves the items of a schedule unchanged; `batchItems` is then null.
 */
export function readBatchForm<Input>(
  schema: z.ZodType<Input>,
  body: unknown,
  keepsItems: (values: FormValues) => boolean = () => false,
): Form<Input & { batchItems: BatchItems | null }> {
  const form = readForm(schema, body);
  const { values } = form;
  const read = keepsItems(values) ? null : readBatchItems(values);
  if (form.ok && read?.ok !== false)
    return { ...form, input: { ...form.input, batchItems: read?.batchItems ?? null } };
  return { ok: false, values, faults: { ...form.faults, ...(read?.ok === false ? read.faults : {}) } };
}

/** Returns a function that finds the field of the form for a parameter of the API. */
export function fieldsOf(schema: z.ZodObject): (parameter: string) => string | undefined {
  const names: readonly string[] = [...BATCH_ITEMS_FIELDS, ...Object.keys(schema.shape)];
  return (parameter) => names.find((name) => name === parameter.replace(/^batch\./, ''));
}

/** The operation and items of a batch, in the form of the API. */
export interface BatchItems {
  operation: string;
  items?: unknown[];
  params?: Record<string, string>;
  split?: Record<string, string[]>;
}

/** The fields of a form that hold the operation and its items. */
const BATCH_ITEMS_FIELDS = ['operation', 'layout', 'items', 'parameter', 'params'] as const;

/** Formats of the text that holds the items. */
const LAYOUTS = {
  list: 'One value per line, such as ASINs',
  table: 'CSV with parameter names in the first line',
  ndjson: 'One JSON object per line',
} as const;

/** Reads the operation and its items from a form. The API validates the items. */
function readBatchItems(
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

/**
 * Returns the lines of parameters for all items, with those of the fields `site` and `form` where the operation has them. Parameters
 * that the lines or the items name win.
 */
export function answerParams(values: FormValues): string {
  const { operation: name = '', layout, site, form, params: lines = '', items = '' } = values;
  const operation = queuedOperation(name);
  if (!operation || site === undefined) return lines;
  const forms = parametersOf(operation.params).flatMap((parameter) => parameter.forms.map((one) => one.name));
  const named = `${lines}\n${layout === 'list' ? '' : items.slice(0, LONGEST_HEAD)}`;
  const isNamed = (names: readonly string[]) => names.some((one) => new RegExp(`\\b${one}\\b`).test(named));
  const siteName = DOMAIN_NAMES.find((one) => forms.includes(one));
  const code = SITES[Number(site) as keyof typeof SITES] ?? site;
  return [
    ...(siteName && !isNamed(DOMAIN_NAMES) ? [`${siteName}=${siteName === 'country' ? code : site}`] : []),
    ...(form === 'decoded' && forms.includes('decode') && !isNamed(['decode']) ? ['decode=1'] : []),
    lines,
  ].join('\n');
}

/** The names of a table or of the first JSON objects. */
const LONGEST_HEAD = 4_096;

/** The default list parameter: the one the operation requires besides its site. */
export function listParameterOf(operation: QueuedOperation): string | undefined {
  if (operation.bundle) return operation.bundle.fields[0];
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
    const value = jsonOf(line);
    if (typeof value === 'object' && value !== null && !Array.isArray(value))
      return value as Record<string, unknown>;
    throw new Misread('items', `line ${i + 1} must be a JSON object such as {"domain":1}`);
  });
}

/** Returns undefined for text that is not JSON. */
export function jsonOf(text: string): unknown {
  try {
    return parseJson(text);
  } catch {
    return undefined;
  }
}

function merged(params: Record<string, string>, items: readonly Record<string, unknown>[]): unknown[] {
  return items.map((item) => ({ ...params, ...item }));
}

/** The lines that are not empty. */
export function linesOf(text: string): string[] {
  return text
    .split(/\r?\n/)
    .map((line) => line.trim())
    .filter((line) => line !== '');
}
