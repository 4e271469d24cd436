import { z } from 'zod';
import { SCHEMA_NAMES } from '../../operations/answers.ts';
import { LOCAL, QUEUED } from '../../operations/index.ts';
import type { JsonSchema } from '../../operations/params/request.ts';

// The parts of OpenAPI 3.1 that the document uses.

export interface Reference {
  $ref: string;
}

export interface ParameterObject {
  name: string;
  in: 'query' | 'path' | 'header';
  description: string;
  required?: boolean;
  /** Another parameter that a request can have instead. */
  'x-required-unless'?: string;
  schema?: JsonSchema;
  example?: unknown;
  style?: 'form';
  explode?: boolean;
}

export interface MediaType {
  schema?: JsonSchema | Reference;
  example?: unknown;
  examples?: Record<string, { summary?: string; value: unknown }>;
}

export interface ResponseObject {
  description: string;
  headers?: Record<string, Reference | HeaderObject>;
  content?: Record<string, MediaType>;
}

export interface HeaderObject {
  description: string;
  required?: boolean;
  schema: JsonSchema;
}

export interface RequestBodyObject {
  description: string;
  required: boolean;
  content: Record<string, MediaType>;
}

export interface OperationObject {
  operationId: string;
  tags: readonly string[];
  summary: string;
  description: string;
  deprecated?: true;
  parameters?: readonly (ParameterObject | Reference)[];
  requestBody?: RequestBodyObject;
  responses: Record<string, ResponseObject | Reference>;
  /** Empty if no key is needed. */
  security?: readonly [];
  /** The response to a call that has not ended, with status 202. */
  'x-unfinished'?: Reference;
  [extension: `x-${string}`]: unknown;
}

export type Method = 'get' | 'post' | 'patch' | 'delete';

/** Operations by path and method. */
export type Paths = Record<string, Partial<Record<Method, OperationObject>>>;

const FROM_CACHE = z.boolean().describe('Whether the data came from the one-hour result cache');

/** The `data` of each operation's envelope. Pictures have none. */
const DATA = new Map<string, z.ZodObject>();

for (const operation of QUEUED) {
  const { name, respond } = operation;
  if (respond.type === 'json') nameData(name, respond.answer.extend({ fromCache: FROM_CACHE }));
}
for (const { name, answer } of LOCAL) nameData(name, answer);

function nameData(operation: string, data: z.ZodObject): void {
  DATA.set(operation, data.register(SCHEMA_NAMES, { id: `${pascalCase(operation)}Data` }));
}

/** Returns the schema of an operation's data. @throws for an operation that returns a picture. */
export function dataOf(operation: string): z.ZodObject {
  const data = DATA.get(operation);
  if (!data) throw new Error(`${operation} has no data`);
  return data;
}

/** Returns a reference to a named schema. @throws for a schema without a name. */
export function reference(schema: z.ZodType): Reference {
  const id = SCHEMA_NAMES.get(schema)?.id;
  if (id === undefined) throw new Error('the schema has no name');
  return { $ref: placeOf(id) };
}

let components: Record<string, JsonSchema> | undefined;

/** Returns every named schema, by name. Converting them takes a tenth of a second, and several documents contain them. */
export function componentSchemas(): Readonly<Record<string, JsonSchema>> {
  components ??= convertNamedSchemas();
  return components;
}

function convertNamedSchemas(): Record<string, JsonSchema> {
  const { schemas } = z.toJSONSchema(SCHEMA_NAMES, { uri: placeOf, io: 'output', unrepresentable: 'any' });
  return Object.fromEntries(
    Object.entries(schemas)
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([id, schema]) => [id, asAnswer(schema)]),
  );
}

/** Converts the schema of a body. */
export function bodySchemaOf(schema: z.ZodType): JsonSchema {
  return withFormats(z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' }));
}

/**
 * Allows further fields in the objects of an answer, because new fields may be added. Objects that contain fields of the
 * provider state it.
 */
function asAnswer(schema: JsonSchema): JsonSchema {
  return rewrite(schema, (inner) => {
    if (inner.additionalProperties === false) delete inner.additionalProperties;
    else if (isEmpty(inner.additionalProperties)) inner.additionalProperties = true;
    cleaned(inner);
  });
}

/** Adds formats and bounds to the schema of request data. */
export function withFormats(schema: JsonSchema): JsonSchema {
  return rewrite(schema, cleaned);
}

const EXACT_FORMATS = new Set<string | undefined>(['date', 'date-time', 'uuid']);

function cleaned(schema: JsonSchema): void {
  delete schema.$schema;
  delete schema.$id;
  // The format replaces the long pattern.
  if (EXACT_FORMATS.has(schema.format)) delete schema.pattern;
  if (schema.format === 'date-time') schema.maxLength ??= 40;
  // Names of fields are always strings.
  if (isSchema(schema.propertyNames)) delete schema.propertyNames;
  // Many generators and linters do not know prefixItems; minItems and maxItems keep the length of a tuple.
  const { prefixItems: [first, ...others] = [] } = schema;
  if (first !== undefined) {
    delete schema.prefixItems;
    const isUniform = others.every((one) => JSON.stringify(one) === JSON.stringify(first));
    schema.items = (isUniform ? first : { anyOf: [first, ...others] }) as JsonSchema;
  }
  if (schema.type !== 'integer') return;
  schema.format ??= isShort(schema) ? 'int32' : 'int64';
  const values = (schema.enum ?? []).filter((value) => typeof value === 'number');
  // Generators and linters expect bounds.
  if (values.length > 0)
    Object.assign(schema, { minimum: Math.min(...values), maximum: Math.max(...values) });
}

function isShort({ minimum, maximum, enum: values }: JsonSchema): boolean {
  if (values) return true;
  return (minimum ?? -Infinity) >= -(2 ** 31) && (maximum ?? Infinity) < 2 ** 31;
}

/** Applies `change` to each schema within a schema, the innermost first. Values stay unchanged. */
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

/** Keywords whose values are not schemas. */
const VALUES = new Set(['default', 'examples', 'example', 'enum', 'const', 'required']);

/** Keywords that hold schemas by field name. */
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
