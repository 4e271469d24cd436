import { group } from 'd3-array';
import Papa from 'papaparse';
import type { ComponentChildren, VNode } from 'preact';
import type { z } from 'zod';
import { parametersOf } from '../../api/openapi/parameters.ts';
import type { Operation, QueuedOperation } from '../../operations/define.ts';
import { existingOperation, queuedOperation } from '../../operations/index.ts';
import { DOMAIN_NAMES } from '../../operations/params/domain.ts';
import { Choice, FilterForm, HiddenFields, TextArea } from '../kit/form.tsx';
import {
  digits,
  type Form,
  FormRefused,
  type FormState,
  type FormValues,
  jsonOf,
  readForm,
} from '../kit/form-request.ts';
import { optional } from '../kit/list-page.tsx';
import { count } from '../kit/words.tsx';
import { ParameterFields } from './parameter-fields.tsx';
import { readFields, type TryField, tryFields } from './try-request.ts';
import { FILE_FORM_BYTES } from './uploads/file-form.ts';

/** The operation that a form of a batch is about. */
export function batchOperation({ operation = '' }: FormValues): QueuedOperation {
  return queuedOperation(operation) ?? existingOperation('market.product');
}

/** The form that chooses the operation of the form below it. */
export function ChooseOperation(props: {
  path: string;
  operation: Operation;
  operations: readonly Operation[];
}): VNode {
  const { path, operation, operations } = props;
  return (
    <FilterForm path={path} values={{ operation: operation.name }} button="Choose">
      <OperationChoice operations={operations} />
    </FilterForm>
  );
}

/** The parameters that all items share. Values are in currency and stars unless the person chooses otherwise. */
function sharedFields(operation: QueuedOperation): readonly TryField[] {
  const listed = listParameterOf(operation);
  return tryFields(operation, 'body')
    .filter(({ name }) => name !== listed)
    .map((field) =>
      field.name === 'decode' ? { ...field, schema: { ...field.schema, default: true } } : field,
    );
}

/** The fields of the items of a batch and of their parameters. @param props.file fields of a file with items. */
export function BatchItemsFields(props: {
  operation: QueuedOperation;
  form: FormState;
  file?: ComponentChildren;
}): VNode {
  const { operation, form, file } = props;
  const listed = listParameterOf(operation);
  const names = parametersOf(operation.params).map(({ name }) => [name, name] as const);
  return (
    <>
      <HiddenFields fields={{ operation: operation.name }} />
      <fieldset>
        <legend>Items</legend>
        <div class="fields">
          {file}
          <Choice name="layout" label="Format" options={Object.entries(LAYOUTS)} />
          <Choice
            name="parameter"
            label="Each value is"
            options={[['', listed ?? '-'], ...names.filter(([name]) => name !== listed)]}
          />
          <div class="whole">
            <TextArea
              name="items"
              label="Items"
              rows={8}
              placeholder={listed?.startsWith('asin') ? 'B0C3CDEF01\nB0C3CDEF02' : ''}
              hint={`Up to ${count((file ? FILE_FORM_BYTES : BATCH_FORM_BYTES) / 1024)} KiB. The API accepts up to 100,000 items.`}
            />
          </div>
        </div>
      </fieldset>
      <fieldset>
        <legend>Parameters of all items</legend>
        <ParameterFields fields={sharedFields(operation)} form={form} />
      </fieldset>
    </>
  );
}

/** Headings of the groups, by the first part of an operation's name. */
const GROUP_NAMES: Readonly<Record<string, string>> = {
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

/** Reads a form with the items of a batch. @param keepsItems whether it leaves those of a schedule; they are null then. */
export function readBatchForm<Input>(
  schema: z.ZodType<Input>,
  body: unknown,
  keepsItems: (values: FormValues) => boolean = () => false,
): Form<Input & { batchItems: BatchItems | null }> {
  const form = readForm(schema, body);
  const { values, faults } = form;
  try {
    const batchItems = keepsItems(values) ? null : readBatchItems(values);
    return form.ok ? { ...form, input: { ...form.input, batchItems } } : form;
  } catch (error) {
    if (!(error instanceof FormRefused)) throw error;
    return { ok: false, values, faults: { ...faults, ...error.faults } };
  }
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
  params?: Record<string, unknown>;
  split?: Record<string, string[]>;
}

/** The fields of a form that hold the operation and its items. */
const BATCH_ITEMS_FIELDS = ['layout', 'items', 'parameter'] as const;

/** Formats of the text that holds the items. */
const LAYOUTS = {
  list: 'One value per line, such as ASINs',
  table: 'CSV with parameter names in the first line',
  ndjson: 'One JSON object per line',
} as const;

/** Reads the operation and its items from a form. The API validates the items. @throws FormRefused. */
function readBatchItems(values: FormValues): BatchItems {
  const { operation: name = '', layout = 'list', items = '', parameter } = values;
  const operation = queuedOperation(name);
  if (!operation) throw new FormRefused(400, { '': 'Choose an operation.' });
  const params = readFields(sharedFields(operation), values);
  if (items.trim() === '') throw misread('items', 'must have at least one line');
  if (layout === 'table') return { operation: name, items: merged(params, rowsOf(items)) };
  if (layout === 'ndjson') return { operation: name, items: merged(params, objectsOf(items)) };
  const listed = parameter?.trim() || listParameterOf(operation);
  if (!listed) throw misread('parameter', `${name} has no list parameter; choose another format`);
  return { operation: name, params, split: { [listed]: valuesOf(items, operation, listed) } };
}

/** The default list parameter: the one the operation requires besides its site. */
export function listParameterOf(operation: QueuedOperation): string | undefined {
  if (operation.bundle) return operation.bundle.fields[0];
  const names: readonly string[] = DOMAIN_NAMES;
  return parametersOf(operation.params).find(({ name, required }) => required && !names.includes(name))?.name;
}

function misread(field: string, problem: string): FormRefused {
  return new FormRefused(400, { [field]: problem });
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
  if (error) throw misread('items', `line ${(error.row ?? 0) + 2}: ${error.message.toLowerCase()}`);
  if (data.length === 0)
    throw misread('items', 'must have a line of parameter names and at least one line of values');
  return data.map((row) => Object.fromEntries(Object.entries(row).filter(([, value]) => value !== '')));
}

function objectsOf(text: string): Record<string, unknown>[] {
  return linesOf(text).map((line, i) => {
    const value = jsonOf(line);
    if (typeof value === 'object' && value !== null && !Array.isArray(value))
      return value as Record<string, unknown>;
    throw misread('items', `line ${i + 1} must be a JSON object such as {"domain":1}`);
  });
}

/** Items with the shared parameters, except those that they have themselves. A site has several names. */
function merged(
  shared: Readonly<Record<string, unknown>>,
  items: readonly Record<string, unknown>[],
): unknown[] {
  const sites: readonly string[] = DOMAIN_NAMES;
  const withoutSite = Object.fromEntries(Object.entries(shared).filter(([name]) => !sites.includes(name)));
  return items.map((item) => ({ ...(sites.some((name) => name in item) ? withoutSite : shared), ...item }));
}

/** The lines that are not empty. */
export function linesOf(text: string): string[] {
  return text
    .split(/\r?\n/)
    .map((line) => line.trim())
    .filter((line) => line !== '');
}
