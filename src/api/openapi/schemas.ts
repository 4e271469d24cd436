import { z } from 'zod';
import { SCHEMA_NAMES } from '../../operations/answers/schema-names.ts';
import { LOCAL, QUEUED } from '../../operations/index.ts';
import type { JsonSchema } from '../../operations/params/documentation.ts';
import type { Reference } from './shape.ts';

const FROM_CACHE = z.boolean().describe('Whether the data came from the one-hour result cache');

/** The `data` of each operation's envelope; none where the answer is a picture. */
const DATA = new Map<string, z.ZodObject>();

for (const operation of QUEUED) {
  const { name, respond } = operation;
  if (respond.type === 'json') nameData(name, respond.answer.extend({ fromCache: FROM_CACHE }));
}
for (const { name, answer } of LOCAL) nameData(name, answer);

function nameData(operation: string, data: z.ZodObject): void {
  DATA.set(operation, data.register(SCHEMA_NAMES, { id: `${pascalCase(operation)}Data` }));
}

/** What an operation's answers hold. @throws for an operation that answers with a picture. */
export function dataOf(operation: string): z.ZodObject {
  const data = DATA.get(operation);
  if (!data) throw new Error(`${operation} has no data`);
  return data;
}

/** The place of a named schema in the document. @throws for one without name. */
export function reference(schema: z.ZodType): Reference {
  const id = SCHEMA_NAMES.get(schema)?.id;
  if (id === undefined) throw new Error('the schema has no name');
  return { $ref: placeOf(id) };
}

/** Every named schema, and whatever else the document has by name. */
export function componentSchemas(): Record<string, JsonSchema> {
  const { schemas } = z.toJSONSchema(SCHEMA_NAMES, { uri: placeOf, io: 'output', unrepresentable: 'any' });
  return Object.fromEntries(
    Object.entries(schemas)
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([id, schema]) => [id, asAnswer(schema)]),
  );
}

/** A schema of a body, as it stands in the document. */
export function bodySchemaOf(schema: z.ZodType): JsonSchema {
  return withFormats(z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' }));
}

/**
 * Objects of an answer may get new fields in time, so the document closes none of them; where fields of the provider pass
 * through it says so.
 */
function asAnswer(schema: JsonSchema): JsonSchema {
  return rewrite(schema, (inner) => {
    if (inner.additionalProperties === false) delete inner.additionalProperties;
    else if (isEmpty(inner.additionalProperties)) inner.additionalProperties = true;
    cleaned(inner);
  });
}

/** A schema of something that is sent to us. */
export function withFormats(schema: JsonSchema): JsonSchema {
  return rewrite(schema, cleaned);
}

const EXACT_FORMATS = new Set<string | undefined>(['date', 'date-time', 'uuid']);

function cleaned(schema: JsonSchema): void {
  delete schema.$schema;
  delete schema.$id;
  // The format says it better than the long pattern of it.
  if (EXACT_FORMATS.has(schema.format)) delete schema.pattern;
  if (schema.format === 'date-time') schema.maxLength ??= 40;
  // Names of fields are texts anyway.
  if (isSchema(schema.propertyNames)) delete schema.propertyNames;
  if (schema.type !== 'integer') return;
  schema.format ??= isShort(schema) ? 'int32' : 'int64';
  const values = (schema.enum ?? []).filter((value) => typeof value === 'number');
  // Generators and linters look for bounds.
  if (values.length > 0)
    Object.assign(schema, { minimum: Math.min(...values), maximum: Math.max(...values) });
}

function isShort({ minimum, maximum, enum: values }: JsonSchema): boolean {
  if (values) return true;
  return (minimum ?? -Infinity) >= -(2 ** 31) && (maximum ?? Infinity) < 2 ** 31;
}

/** The same schema after `change` was made to each schema in it, the innermost first. Values are left alone. */
function rewrite(schema: JsonSchema, change: (schema: JsonSchema) => void): JsonSchema {
  const result: JsonSchema = { ...schema };
  for (const [keyword, value] of Object.entries(schema)) {
    if (VALUES.has(keyword)) continue;
    if (Array.isArray(value))
      result[keyword] = value.map((item) => (isSchema(item) ? rewrite(item, change) : item));
    else if (BY_NAME.has(keyword) && isSchema(value))
      result[keyword] = Object.fromEntries(
        Object.entries(value).map(([name, inner]) => [
          name,
          isSchema(inner) ? rewrite(inner, change) : inner,
        ]),
      );
    else if (isSchema(value)) result[keyword] = rewrite(value, change);
  }
  change(result);
  return result;
}

/** Keywords whose values are no schemas, and those that hold schemas by names which are no keywords. */
const VALUES = new Set(['default', 'examples', 'example', 'enum', 'const', 'required']);
const BY_NAME = new Set(['properties', 'patternProperties', '$defs']);

function isSchema(value: unknown): value is JsonSchema {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isEmpty(value: unknown): boolean {
  return isSchema(value) && Object.keys(value).length === 0;
}

function placeOf(id: string): string {
  return `#/components/schemas/${id}`;
}

/** `MarketProduct` of `market.product`. */
export function pascalCase(name: string): string {
  return name
    .split(/[.-]/)
    .map((word) => word.charAt(0).toUpperCase() + word.slice(1))
    .join('');
}
