import fc from 'fast-check';
import type { OpenApiDocument } from '../../../src/api/openapi/document.ts';
import { OPERATIONS } from '../../../src/operations/index.ts';
import type { JsonSchema } from '../../../src/operations/params/request.ts';
import { OPERATION_SAMPLES } from '../operation-samples.ts';
import { valuesOf } from '../schema-values.ts';
import { changes, encoded, type Fields, oddValue, textOf, writeJson, writeQuery } from './odd-values.ts';
import { type FuzzRequest, requestChanges } from './request.ts';

type Schema = JsonSchema & { $ref?: string };

interface Parameter {
  $ref?: string;
  name: string;
  in: string;
  schema?: Schema;
}

interface Described {
  parameters?: readonly Parameter[];
  requestBody?: { content: Record<string, { schema?: Schema }> };
}

/** Nothing listens at these addresses. */
const WEBHOOKS = [
  'http://127.0.0.1:9/hook',
  'http://[::1]:9/',
  'http://2130706433:9/hook',
  'http://localhost:9',
];

/** Generates requests to every operation and endpoint of the document, valid and invalid ones. @param ids ids of existing jobs, batches and schedules. */
export function apiRequests(document: OpenApiDocument, ids: readonly string[]): fc.Arbitrary<FuzzRequest> {
  const all = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) =>
      requestsOf(path, method.toUpperCase(), operation as Described, document, ids),
    ),
  );
  return fc.oneof(...all);
}

function requestsOf(
  path: string,
  method: string,
  { parameters = [], requestBody }: Described,
  document: OpenApiDocument,
  ids: readonly string[],
): fc.Arbitrary<FuzzRequest> {
  const schemaOf = schemasOf(document);
  const inQuery = parameters
    .map((one) => (one.$ref === undefined ? one : (named(document, one.$ref) as unknown as Parameter)))
    .filter((one) => one.in === 'query')
    .map(({ name, schema }) => [name, schemaOf(schema)] as const);
  const query = goodFields(
    path,
    objectFields({ type: 'object', properties: Object.fromEntries(inQuery) } as Schema),
  );
  const schema = requestBody?.content['application/json']?.schema;
  const body = schema === undefined ? fc.constant(null) : goodFields(path, objectFields(schemaOf(schema)));
  const segment = fc.oneof(
    { weight: 5, arbitrary: fc.constantFrom(...ids, 'gb', 'us') },
    { weight: 2, arbitrary: oddValue.map((value) => encoded(textOf(value)).slice(0, 300)) },
  );
  return fc
    .tuple(query, body, changes, changes, fc.array(segment, { minLength: 3, maxLength: 3 }), requestChanges)
    .map(([fields, content, changeQuery, changeBody, segments, finish]) => {
      // A request with a body usually has no query.
      const search = content === null ? writeQuery(changeQuery(fields)) : writeQuery(changeQuery([]));
      const where = path.replaceAll(/\{[^}]*\}/g, () => segments.pop() ?? 'x');
      return finish({
        method,
        path: search === '' ? where : `${where}?${search}`,
        headers: content === null ? {} : { 'content-type': 'application/json' },
        ...(content === null ? {} : { body: writeJson(changeBody(content)) }),
        as: 'customer',
      });
    });
}

/** The samples of an operation, or values that fit its schemas. */
function goodFields(path: string, fitting: fc.Arbitrary<Fields>): fc.Arbitrary<Fields> {
  const samples = OPERATIONS.filter(({ routes }) => routes.some((route) => route.path === path))
    .flatMap(({ name }) => OPERATION_SAMPLES[name] ?? [])
    .map((sample): Fields => Object.entries(sample));
  if (samples.length === 0) return fitting;
  return fc.oneof({ weight: 2, arbitrary: fc.constantFrom(...samples) }, { weight: 1, arbitrary: fitting });
}

function objectFields(schema: Schema): fc.Arbitrary<Fields> {
  return valuesOf(schema).map((value) => Object.entries((value ?? {}) as Record<string, unknown>));
}

/** Returns a function that resolves the references in a schema, and replaces empty schemas by objects. */
function schemasOf(document: OpenApiDocument): (schema: Schema | undefined) => Schema {
  const resolve = (schema: Schema = {}, seen: readonly string[] = []): Schema => {
    const { $ref } = schema;
    if ($ref !== undefined)
      return seen.includes($ref) ? OPEN : resolve(named(document, $ref), [...seen, $ref]);
    if (schema.format === 'uri') return { enum: WEBHOOKS };
    const inner = (part: unknown) => resolve(part as Schema, seen);
    const list = (parts: unknown) => (Array.isArray(parts) ? parts.map(inner) : undefined);
    const { properties, items, prefixItems, anyOf } = schema;
    const resolved = {
      ...schema,
      ...(properties
        ? {
            properties: Object.fromEntries(
              Object.entries(properties).map(([name, one]) => [name, inner(one)]),
            ),
          }
        : {}),
      ...(items ? { items: inner(items) } : {}),
      ...(prefixItems ? { prefixItems: list(prefixItems) } : {}),
      ...(anyOf ? { anyOf: list(anyOf) } : {}),
    } as Schema;
    const says = resolved.type ?? resolved.enum ?? resolved.anyOf ?? resolved.const;
    return says === undefined ? OPEN : resolved;
  };
  return (schema) => resolve(schema);
}

const OPEN: Schema = { type: 'object', properties: {} };

function named(document: OpenApiDocument, reference: string): Schema {
  const names = reference.slice(2).split('/');
  return names.reduce<unknown>((part, name) => (part as Record<string, unknown>)[name], document) as Schema;
}
