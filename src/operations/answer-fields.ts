import { z } from 'zod';
import { didYouMean } from './faults.ts';
import { isRecord } from './params/request.ts';

/** The records of an answer: products, rows, deals. */
export interface Records {
  /** Where `data` has them, as a dotted name: a list, or an object with one record for each key. */
  path: string;
  /** The fields that identify a record. They are always returned. */
  ids?: readonly string[];
  /** The further fields that records of the provider can have. Without it, a field of theirs may have any name. */
  providerFields?: readonly string[];
  /** Returns the parameters that are needed for a field, and that the input lacks. Without them, no record has the field. */
  needs?(field: string, input: unknown): readonly string[];
}

/** An answer whose fields a caller can select. */
export interface FieldsOf {
  answer: z.ZodObject;
  /** Without records, the fields are those of `data`. */
  records?: Records | undefined;
}

/** A dotted name of a field. */
const FIELD_NAME = /^[\w-]+(?:\.[\w-]+){0,9}$/;

/** Returns the name of a field relative to the records: `products.asin` is `asin`. */
export function relativeName({ records }: FieldsOf, name: string): string {
  return records && name.startsWith(`${records.path}.`) ? name.slice(records.path.length + 1) : name;
}

/**
 * Returns what is wrong with the name of a field, or null. Objects of the provider may have any field, unless the contract
 * lists the fields of their records.
 */
export function fieldProblem(of: FieldsOf, name: string): string | null {
  const { answer, records } = of;
  if (!FIELD_NAME.test(name)) return 'must be a dotted name, such as asin or stats.current';
  const schema = selectable(of);
  const where = records ? `a field of ${records.path}` : 'a field of the answer';
  const known = namesOf(schema);
  const [first = ''] = name.split('.');
  const isListed = known.includes(first) || records?.providerFields?.includes(first);
  const surrounds = records && Object.hasOwn(answer.shape, first) && !isListed;
  if (!surrounds && (isListed ?? true) && hasField(schema, name.split('.'))) return null;
  return `must be ${where}, such as ${known.slice(0, SHOWN_NAMES).join(', ')}`;
}

const SHOWN_NAMES = 12;

/** Returns the known fields that are nearest to the first unknown part of a name, as `; did you mean a?`, or ''. */
export function nearField(of: FieldsOf, name: string): string {
  const parts = name.split('.');
  const records = selectable(of);
  for (const [depth, part] of parts.entries()) {
    const above = parts.slice(0, depth);
    const known = [...namesAt(records, above), ...(depth === 0 ? (of.records?.providerFields ?? []) : [])];
    if (known.includes(part)) continue;
    const prefix = above.map((one) => `${one}.`).join('');
    return didYouMean(
      `${prefix}${part}`,
      known.map((one) => `${prefix}${one}`),
    );
  }
  return '';
}

/** Returns the names of the known fields of a record, or of the answer. */
export function knownFields(of: FieldsOf): readonly string[] {
  return namesOf(selectable(of));
}

/** Returns the data with only these fields of each record, and everything around the records. */
export function project(
  { records }: Pick<FieldsOf, 'records'>,
  data: Record<string, unknown>,
  fields: readonly string[],
): Record<string, unknown> {
  if (!records) return cut(data, treeOf(fields)) as Record<string, unknown>;
  const tree = treeOf([...fields, ...(records.ids ?? [])]);
  const path = records.path.split('.');
  return changeAt(data, path, (found) =>
    Array.isArray(found) || !isRecord(found) ? cut(found, tree) : mapValues(found, (one) => cut(one, tree)),
  ) as Record<string, unknown>;
}

/** Selected fields by name; null selects a field with everything in it. */
type Tree = Map<string, Tree | null>;

function treeOf(fields: readonly string[]): Tree {
  const root: Tree = new Map();
  for (const field of fields) {
    const names = field.split('.');
    let tree: Tree | null = root;
    for (const [depth, name] of names.entries()) {
      const known: Tree | null | undefined = tree.get(name);
      const next: Tree | null = depth === names.length - 1 ? null : known === undefined ? new Map() : known;
      tree.set(name, next);
      if (next === null) break;
      tree = next;
    }
  }
  return root;
}

function cut(value: unknown, tree: Tree): unknown {
  if (Array.isArray(value)) return value.map((item) => cut(item, tree));
  if (!isRecord(value)) return value;
  const kept = Object.entries(value).flatMap(([name, inner]) => {
    const below = tree.get(name);
    return below === undefined ? [] : [[name, below ? cut(inner, below) : inner] as const];
  });
  return Object.fromEntries(kept);
}

function changeAt(value: unknown, path: readonly string[], change: (found: unknown) => unknown): unknown {
  const [name, ...rest] = path;
  if (name === undefined) return change(value);
  if (!isRecord(value) || value[name] === undefined) return value;
  return { ...value, [name]: changeAt(value[name], rest, change) };
}

function mapValues(
  record: Record<string, unknown>,
  change: (value: unknown) => unknown,
): Record<string, unknown> {
  return Object.fromEntries(Object.entries(record).map(([name, value]) => [name, change(value)]));
}

/** Returns the schema whose fields can be selected: that of a record, or of the whole answer. */
function selectable({ answer, records }: FieldsOf): z.core.$ZodType {
  const path = records?.path.split('.') ?? [];
  const found = path.reduce<z.core.$ZodType>((schema, name) => {
    const inner = bare(schema);
    return inner instanceof z.ZodObject ? (inner.shape[name] ?? z.unknown()) : z.unknown();
  }, answer);
  const list = bare(found);
  if (list instanceof z.ZodArray) return list.element;
  return list instanceof z.ZodRecord ? list.valueType : list;
}

function bare(schema: z.core.$ZodType): z.core.$ZodType {
  return schema instanceof z.ZodOptional || schema instanceof z.ZodNullable ? bare(schema.unwrap()) : schema;
}

function namesOf(schema: z.core.$ZodType): string[] {
  const inner = bare(schema);
  return inner instanceof z.ZodObject ? Object.keys(inner.shape) : [];
}

/** Returns the known fields of a value below another one. Lists have the fields of their items. */
function namesAt(schema: z.core.$ZodType, path: readonly string[]): string[] {
  const [name, ...rest] = path;
  const inner = bare(schema);
  if (inner instanceof z.ZodArray) return namesAt(inner.element, path);
  if (name === undefined) return namesOf(inner);
  if (inner instanceof z.ZodRecord) return namesAt(inner.valueType, rest);
  const below = inner instanceof z.ZodObject && Object.hasOwn(inner.shape, name) ? inner.shape[name] : null;
  return below ? namesAt(below, rest) : [];
}

/** Returns whether a value may have a field. Lists have the fields of their items. */
function hasField(schema: z.core.$ZodType, path: readonly string[]): boolean {
  const [name, ...rest] = path;
  if (name === undefined) return true;
  const inner = bare(schema);
  if (inner instanceof z.ZodArray) return hasField(inner.element, path);
  if (inner instanceof z.ZodUnion) return inner.options.some((option) => hasField(option, path));
  if (inner instanceof z.ZodRecord) return hasField(inner.valueType, rest);
  if (!(inner instanceof z.ZodObject)) return inner instanceof z.ZodUnknown;
  const field = Object.hasOwn(inner.shape, name) ? inner.shape[name] : inner._zod.def.catchall;
  return field !== undefined && hasField(field, rest);
}
