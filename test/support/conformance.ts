import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import type { OpenApiDocument } from '../../src/api/openapi/document.ts';
import type { Method, OperationObject } from '../../src/api/openapi/schemas.ts';
import type { Client, Reply, RequestOptions } from './client.ts';

interface Described {
  path: string;
  operation: OperationObject;
}

/** Compares answers with the OpenAPI document. */
export interface Conformance {
  operations: readonly (Described & { method: Method })[];
  /** Returns the faults of an answer. */
  faults(method: string, address: string, reply: Reply): string[];
  /** Every answer that was looked at, as `operationId status`. */
  seen: ReadonlySet<string>;
}

/** Returns whether a header must be described: all headers except those of HTTP itself. */
const OUR_HEADERS = /^(x-(?!content-type-options)|ratelimit|retry-after|location|preference-applied|etag)/;

export function createConformance(document: OpenApiDocument): Conformance {
  const closed = closeObjects(JSON.parse(JSON.stringify(document))) as OpenApiDocument;
  const ajv = new Ajv2020({ strict: false, allErrors: true });
  addFormats.default(ajv);
  ajv.addSchema(closed, 'openapi.json');
  const validators = new Map<string, ValidateFunction>();
  const validatorAt = (place: readonly string[]) => {
    const $ref = `openapi.json#/${place.map((part) => encodeURIComponent(part.replaceAll('~', '~0').replaceAll('/', '~1'))).join('/')}`;
    const known = validators.get($ref) ?? ajv.compile({ $ref });
    validators.set($ref, known);
    return known;
  };
  const operations = Object.entries(document.paths).flatMap(([path, item]) =>
    Object.entries(item).map(([method, operation]) => ({ path, method: method as Method, operation })),
  );
  const seen = new Set<string>();

  function described(method: string, address: string): Described | undefined {
    const path = address.split('?', 1)[0] ?? '';
    const ofMethod = operations.filter((one) => one.method === method.toLowerCase());
    return (
      ofMethod.find((one) => one.path === path) ?? ofMethod.find((one) => patternOf(one.path).test(path))
    );
  }

  return {
    operations,
    seen,
    faults(method, address, reply) {
      const found = described(method, address);
      if (!found) return [`${method} ${address} is not in the document`];
      const { operation, path } = found;
      const status = String(reply.status);
      // A call that has not ended is no response of its own.
      const stated =
        operation.responses[status] ?? (reply.status === 202 ? operation['x-unfinished'] : undefined);
      if (!stated)
        return [
          `${operation.operationId} does not say that it answers ${status}: ${reply.text.slice(0, 200)}`,
        ];
      seen.add(`${operation.operationId} ${status}`);
      const place =
        '$ref' in stated
          ? stated.$ref.slice(2).split('/')
          : ['paths', path, method.toLowerCase(), 'responses', status];
      const response = '$ref' in stated ? at(document, place) : stated;
      return [
        ...headerFaults(response, place, reply, document, validatorAt),
        ...bodyFaults(response, place, reply, validatorAt),
      ].map((fault) => `${operation.operationId} ${status}: ${fault}`);
    },
  };
}

/** A client that compares every answer with the document, and throws its faults. */
export function conforming(client: Client, conformance: Conformance): Client {
  const compared = async (method: string, path: string, reply: Promise<Reply>): Promise<Reply> => {
    const faults = conformance.faults(method, path, await reply);
    if (faults.length > 0) throw new Error(faults.join('\n'));
    return reply;
  };
  return {
    ...client,
    get: (path, options) => compared(options?.method ?? 'GET', path, client.get(path, options)),
    post: (path, body, options) => compared('POST', path, client.post(path, body, options)),
    raw: (path, options: RequestOptions = {}) =>
      compared(options.method ?? 'GET', path, client.raw(path, options)),
  };
}

type Validators = (place: readonly string[]) => ValidateFunction;
interface Stated {
  headers?: Record<string, unknown>;
  content?: Record<string, unknown>;
}

function headerFaults(
  { headers = {} }: Stated,
  place: readonly string[],
  reply: Reply,
  document: OpenApiDocument,
  validatorAt: Validators,
): string[] {
  const stated = Object.entries(headers).map(([name, header]) => {
    const { $ref } = header as { $ref?: string };
    const where = $ref ? $ref.slice(2).split('/') : [...place, 'headers', name];
    return { name: name.toLowerCase(), where, ...(at(document, where) as { required?: boolean }) };
  });
  const names = new Set(stated.map(({ name }) => name));
  const unknown = Object.keys(reply.headers).filter((name) => OUR_HEADERS.test(name) && !names.has(name));
  return [
    ...unknown.map((name) => `the header ${name} is not described`),
    ...stated.flatMap(({ name, where, required }) => {
      const value = reply.headers[name];
      if (value === undefined) return required ? [`the header ${name} is missing`] : [];
      const validate = validatorAt([...where, 'schema']);
      const isFine = validate(value) || (/^\d+$/.test(value) && validate(Number(value)));
      return isFine ? [] : [`the header ${name} is ${String(value)}`];
    }),
  ];
}

function bodyFaults(
  { content = {} }: Stated,
  place: readonly string[],
  reply: Reply,
  validatorAt: Validators,
): string[] {
  const type = (reply.headers['content-type'] ?? '').split(';', 1)[0] ?? '';
  if (Object.keys(content).length === 0)
    return reply.body.length === 0 ? [] : ['a body that is not described'];
  if ('*/*' in content) return reply.body.length > 0 ? [] : ['no body'];
  if (!(type in content)) return [`the content type ${type} is not described`];
  if (type === 'image/png') return reply.body.subarray(1, 4).toString() === 'PNG' ? [] : ['not a PNG'];
  if (type !== 'application/json') return [];
  const validate = validatorAt([...place, 'content', type, 'schema']);
  if (validate(reply.json)) return [];
  return (validate.errors ?? []).map(
    ({ instancePath, message, params }) => `${instancePath} ${message} ${JSON.stringify(params)}`,
  );
}

/** Makes schemas strict: clients must accept new fields, but undescribed fields are faults in tests. */
function closeObjects(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(closeObjects);
  if (typeof value !== 'object' || value === null) return value;
  const result = Object.fromEntries(
    Object.entries(value).map(([name, inner]) => [name, closeObjects(inner)]),
  );
  const isObject = result.type === 'object' && result.properties !== undefined;
  return isObject && result.additionalProperties === undefined
    ? { ...result, additionalProperties: false }
    : result;
}

function patternOf(path: string): RegExp {
  return new RegExp(`^${path.replace(/\{\w+\}/g, '[^/]+')}$`);
}

// biome-ignore lint/suspicious/noExplicitAny: a document is walked by the names in its references.
function at(document: any, place: readonly string[]): any {
  return place.reduce((inner, part) => inner?.[part], document);
}
