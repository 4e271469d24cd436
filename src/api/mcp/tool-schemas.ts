import type { JsonSchema } from '../../operations/params/request.ts';
import type { ObjectSchema } from './tool.ts';

// Schemas for agents. Each word of the tool list costs tokens in every conversation, so parts that only generators and
// linters need are omitted. The addresses validate all arguments nevertheless.

/** Returns the schema of a parameter without what its description already states. */
export function compactInput(schema: JsonSchema): JsonSchema {
  const { anyOf } = schema;
  const others = anyOf?.filter((option) => !isSchema(option) || option.type !== 'null');
  const [only] = others ?? [];
  if (anyOf && others?.length === 1 && isSchema(only)) {
    const { anyOf: _, ...rest } = schema;
    return compactInput({ ...only, ...rest });
  }
  const result: JsonSchema = {};
  for (const [keyword, value] of Object.entries(schema)) {
    if (LEFT_OUT.has(keyword) || isBoundless(keyword, value)) continue;
    if (keyword === 'enum' && isSpelledOut(schema)) continue;
    if (keyword === 'default' && !value) continue;
    if (keyword === 'items' && !isSchema(value)) continue;
    if (keyword === 'properties' && isSchema(value)) result.properties = compactProperties(value);
    else if (keyword === 'items' && isSchema(value)) result.items = entryOf(value);
    else if (keyword === 'anyOf' && others)
      result.anyOf = others.map((option) => (isSchema(option) ? compactInput(option) : option));
    else result[keyword] = value;
  }
  const [first] = schema.prefixItems ?? [];
  if (isSchema(first)) result.items = { type: first.type } as JsonSchema;
  if (isSchema(result.additionalProperties)) delete result.additionalProperties;
  return result;
}

/** Returns the schema of a list's entries. Entries without a schema are parameters of an operation. */
function entryOf(schema: JsonSchema): JsonSchema {
  return Object.keys(schema).length === 0 ? { type: 'object' } : compactInput(schema);
}

const BOUND = /_(?:gte|lte)$/;

/** Returns the schemas of the usual filters by name. The description of their tool explains bounds, which are most of them. */
export function compactFilters({ properties = {} }: JsonSchema): Record<string, JsonSchema> {
  return Object.fromEntries(
    Object.entries(properties as Record<string, JsonSchema>).map(([name, schema]) => {
      const { description: _, ...bound } = schema;
      // A list has one value or several.
      const { anyOf: [, several] = [], ...one } = schema;
      if (BOUND.test(name)) return [name, compactInput(bound)];
      return [name, compactInput(isSchema(several) ? { ...several, ...one } : schema)];
    }),
  );
}

function compactProperties(properties: object): Record<string, JsonSchema> {
  return Object.fromEntries(
    Object.entries(properties).map(([name, schema]) => [name, compactInput(schema as JsonSchema)]),
  );
}

const LEFT_OUT = new Set([
  '$schema',
  'additionalItems',
  'example',
  'examples',
  'format',
  'maxItems',
  'maxLength',
  'maxProperties',
  'minItems',
  'minLength',
  'minProperties',
  'minimum',
  'pattern',
  'patternProperties',
  'prefixItems',
  'propertyNames',
]);

function isBoundless(keyword: string, value: unknown): boolean {
  return keyword === 'maximum' && typeof value === 'number' && value >= 2 ** 31 - 1;
}

/** Returns whether the description lists all values, such as `1 us, 2 uk, ...`. */
function isSpelledOut({ enum: values = [], description = '' }: JsonSchema): boolean {
  return values.length > 3 && values.every((value) => new RegExp(`\\b${value}\\b`).test(description));
}

/**
 * Returns the schema of an answer, one level deep. No field is required: the answer may be a price, a job that has not
 * ended, or an outline. Fields that may have several types are left out.
 */
export function compactOutput(...data: readonly JsonSchema[]): ObjectSchema {
  const kinds = [INSTEAD_OF_DATA, ...data.map(({ properties = {} }) => properties)];
  const properties = Object.entries(data.at(-1)?.properties ?? {})
    .filter(([name]) => !OF_EVERY_ANSWER.has(name))
    .map(([name, schema]) => {
      const shapes = [...kinds.flatMap((kind) => kind[name] ?? []), schema].map((one) =>
        JSON.stringify(isSchema(one) ? shape(one) : {}),
      );
      return [name, new Set(shapes).size === 1 ? JSON.parse(shapes[0] ?? '{}') : {}] as const;
    })
    // A field that may have several types needs no entry, because further fields are allowed.
    .filter(([, one]) => typeof (one as JsonSchema).type === 'string');
  if (properties.length === 0) return { type: 'object' };
  return { type: 'object', properties: Object.fromEntries(properties) as Record<string, JsonSchema> };
}

/** Fields of a price, of a job that has not ended and of an outline. */
const INSTEAD_OF_DATA: Record<string, JsonSchema> = {
  operation: { type: 'string' },
  units: { type: 'integer' },
  jobId: { type: 'string' },
  size: { type: 'object' },
  hint: { type: 'string' },
  resource: { type: 'string' },
};

const OF_EVERY_ANSWER = new Set(['country', 'domainId', 'fromCache', 'links']);

function shape({ type, anyOf }: JsonSchema): JsonSchema {
  const types = anyOf?.map((option) => (isSchema(option) ? option.type : undefined)) ?? [type];
  if (types.some((known) => known === undefined)) return {};
  const [only, ...others] = [...new Set(types)];
  if (others.length > 0) return { type: [only, ...others] } as unknown as JsonSchema;
  return { type: only } as JsonSchema;
}

function isSchema(value: unknown): value is JsonSchema {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
