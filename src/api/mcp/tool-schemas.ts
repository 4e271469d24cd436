import type { JsonSchema } from '../../operations/params/request.ts';

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
    else if (keyword === 'additionalProperties' && isRange(schema)) continue;
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

/** Returns the schemas of the usual filters by name. */
export function compactFilters({ properties = {} }: JsonSchema): Record<string, JsonSchema> {
  return Object.fromEntries(
    Object.entries(properties as Record<string, JsonSchema>).map(([name, schema]) => {
      // A list has one value or several.
      const { anyOf: [, several] = [], ...one } = schema;
      return [name, compactInput(isSchema(several) ? { ...several, ...one } : schema)];
    }),
  );
}

function compactProperties(properties: object): Record<string, JsonSchema> {
  const isEnds = isRange({ properties } as JsonSchema);
  return Object.fromEntries(
    Object.entries(properties).map(([name, schema]) => {
      const { type } = schema as JsonSchema;
      return [name, isEnds ? { type } : compactInput(schema as JsonSchema)] as [string, JsonSchema];
    }),
  );
}

/** Returns whether a schema is that of a range, whose description explains its two ends. */
function isRange({ properties = {} }: JsonSchema): boolean {
  return Object.keys(properties).join() === 'min,max';
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

function isSchema(value: unknown): value is JsonSchema {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
