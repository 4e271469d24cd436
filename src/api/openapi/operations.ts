import type { Operation, Route } from '../../operations/define.ts';
import { OPERATIONS } from '../../operations/index.ts';
import type { JsonSchema } from '../../operations/params/request.ts';
import { POOLS } from '../../operations/pools.ts';
import type { ErrorKind } from '../../platform/errors.ts';
import { stringifyJson } from '../../platform/json.ts';
import { acceptedSchema } from '../job-view.ts';
import answerExamples from './answer-examples.json' with { type: 'json' };
import { operationIdOf } from './operation-ids.ts';
import {
  CALL_OPTIONS,
  exampleOf,
  option,
  parameterObject,
  parametersOf,
  queryParameters,
} from './parameters.ts';
import {
  acceptedJob,
  COMMON_ERRORS,
  enveloped,
  errorResponses,
  headers,
  QUOTA_ERRORS,
  TABLE_CONTENT,
} from './responses.ts';
import {
  dataOf,
  type Method,
  type OperationObject,
  type ParameterObject,
  type Paths,
  pascalCase,
  type Reference,
  type ResponseObject,
  reference,
} from './schemas.ts';

/**
 * An example of the data of each answer, by the name of the operation. They were taken from the demo provider;
 * test/api/openapi/answer-examples.test.ts writes them again.
 */
export const ANSWER_EXAMPLES: Record<string, object> = answerExamples;

interface Served {
  operation: Operation;
  route: Route;
}

/** Every route of every operation, from the contracts. */
export function operationPaths(): Paths {
  const byAddress = new Map<string, Served[]>();
  for (const operation of OPERATIONS) {
    for (const route of operation.routes) {
      const address = `${route.method} ${route.path}`;
      byAddress.set(address, [...(byAddress.get(address) ?? []), { operation, route }]);
    }
  }
  const paths: Paths = {};
  for (const [first, ...others] of byAddress.values()) {
    if (!first) continue;
    const path = first.route.path.replace(/:(\w+)/g, '{$1}');
    const method = first.route.method.toLowerCase() as Method;
    const described = others.length === 0 ? describe(first, path) : shared([first, ...others], path);
    paths[path] = { ...paths[path], [method]: described };
  }
  return paths;
}

function describe({ operation, route }: Served, path: string): OperationObject {
  const { name, summary, tool, routes } = operation;
  const method = route.method.toLowerCase() as Method;
  const [canonical] = routes;
  const isAlias = canonical.path !== route.path;
  return {
    operationId: operationIdOf(method, path),
    tags: [name.split('.')[0] ?? name],
    summary,
    description: descriptionOf(operation, isAlias ? canonical.path : null),
    ...(isAlias ? { deprecated: true as const } : {}),
    ...requestOf({ operation, route }, path),
    responses: { ...answersOf(operation), ...errorResponses(errorsOf({ operation, route })) },
    ...(operation.kind === 'queued' ? { 'x-unfinished': UNFINISHED } : {}),
    'x-operation': name,
    ...(isAlias ? { 'x-alias-of': canonical.path } : {}),
    'x-units': operation.kind === 'queued' ? operation.price.text : '0',
    ...(operation.kind === 'queued'
      ? {
          'x-pool': operation.pools,
          'x-timeout-seconds': operation.pools.map((pool) => POOLS[pool].timeoutMs / 1000),
        }
      : {}),
    'x-tool': tool,
    ...(operation.kind === 'queued' && operation.tables
      ? { 'x-tables': Object.keys(operation.tables), 'x-table-types': Object.keys(TABLE_CONTENT) }
      : {}),
  };
}

/** Describes an address that several operations share; the query parameter `type` selects one. */
function shared(served: readonly [Served, ...Served[]], path: string): OperationObject {
  const all = served.map((one) => ({ ...one, described: describe(one, path) }));
  const [first] = all as [(typeof all)[number]];
  const types = served.map(({ route }) => route.type ?? '');
  const parameters = new Map<string, ParameterObject | Reference>();
  for (const { described, route } of all) {
    for (const parameter of described.parameters ?? []) {
      const key = '$ref' in parameter ? parameter.$ref : parameter.name;
      const known = parameters.get(key);
      const isOfAll = all.every((one) =>
        one.described.parameters?.some((other) => sameName(other, parameter)),
      );
      if (known) continue;
      const restricted = '$ref' in parameter || isOfAll;
      parameters.set(
        key,
        restricted
          ? parameter
          : {
              ...parameter,
              required: false,
              description: `${parameter.description}; with type=${route.type}`,
            },
      );
    }
  }
  const typeParameter: ParameterObject = {
    name: 'type',
    in: 'query',
    required: false,
    description: `Kind of search. ${served.map(({ route, operation }) => `${route.type}: ${operation.summary}`).join(' ')}`,
    schema: { type: 'string', enum: types, default: types[0] ?? '' },
    example: types[0],
  };
  const data = served.map(({ operation }) => reference(dataOf(operation.name)));
  const { 200: _, ...responses } = Object.assign({}, ...all.map(({ described }) => described.responses));
  const answer = answerOf(
    served.map(({ operation }) => operation),
    { anyOf: data } as JsonSchema,
  );
  return {
    ...first.described,
    summary: served.map(({ operation }) => operation.summary).join(' '),
    description: served
      .map(
        ({ operation, route }) =>
          `With \`type=${route.type}\`: ${descriptionOf(operation, operation.routes[0].path)}`,
      )
      .join('\n\n'),
    parameters: [typeParameter, ...parameters.values()],
    responses: { 200: answer, ...responses },
    'x-operation': served.map(({ operation }) => operation.name),
    'x-alias-of': served.map(({ operation }) => operation.routes[0].path),
    'x-units': all.map(({ described }) => described['x-units']),
    'x-tool': served.map(({ operation }) => operation.tool),
  };
}

function sameName(a: ParameterObject | Reference, b: ParameterObject | Reference): boolean {
  if ('$ref' in a || '$ref' in b) return '$ref' in a && '$ref' in b && a.$ref === b.$ref;
  return a.name === b.name;
}

function descriptionOf(operation: Operation, canonicalPath: string | null): string {
  const alias = canonicalPath
    ? [`Alias of \`${canonicalPath}\`: use that. Both share billing and cache.`]
    : [];
  if (operation.kind === 'local')
    return [operation.summary, ...alias, 'Free; answered immediately.'].join(' ');
  const { price, pools } = operation;
  const where = pools
    .map((pool) => `pool \`${pool}\` for at most ${POOLS[pool].timeoutMs / 1000} seconds`)
    .join(', or in the ');
  const tables = Object.keys(operation.tables ?? {});
  const table =
    tables.length > 0
      ? [
          `With \`format=csv\`, \`ndjson\`, \`xlsx\` or \`parquet\`, or its media type in Accept, the answer is a table: ${tables.map((name) => `\`${name}\``).join(', ')} (\`table\`).`,
        ]
      : [];
  const unfinished = 'If it has not ended in time, or the request asks for a job, the status is 202.';
  return [
    operation.summary,
    ...alias,
    `Units: ${price.text}. Runs in the ${where}. ${unfinished}`,
    ...table,
  ].join(' ');
}

function requestOf(
  { operation, route }: Served,
  path: string,
): Pick<OperationObject, 'parameters' | 'requestBody'> {
  const parameters = parametersOf(operation.params);
  const options = operation.kind === 'queued' ? CALL_OPTIONS : [];
  if (route.method === 'GET' && !route.jsonParameter) {
    const pathNames = [...path.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => name);
    return { parameters: [...queryParameters(parameters, pathNames), ...options.map(option)] };
  }
  const schema = { $ref: `#/components/schemas/${parametersNameOf(operation)}` };
  const example = exampleOf(parameterObject(parameters));
  // A query has the fields of every answer; a body and a selection may have them instead.
  const fields = queryParameters(parameters.filter(({ name }) => name === 'fields'));
  if (!route.jsonParameter) {
    return {
      parameters: [...fields, ...options.map(option)],
      requestBody: {
        description: 'Parameters of the operation',
        required: true,
        content: { 'application/json': { schema, example } },
      },
    };
  }
  const json: ParameterObject = {
    name: route.jsonParameter,
    in: 'query',
    required: true,
    description: 'Parameters of the operation as URL-encoded JSON; see the body of the POST',
    schema: { type: 'string', contentMediaType: 'application/json', ...JSON_TEXT },
    example: stringifyJson(example),
  };
  return { parameters: [json, ...fields, ...options.map(option)] };
}

/** Bounds of JSON in a query: addresses are limited to 64 KiB. */
const JSON_TEXT = { minLength: 2, maxLength: 65_536, pattern: '^\\s*\\{[\\s\\S]*\\}\\s*$' };

/** Returns the schemas of parameters in bodies, by name. */
export function parameterObjects(): Record<string, JsonSchema> {
  return Object.fromEntries(
    OPERATIONS.filter(({ routes }) => routes.some(({ method }) => method === 'POST')).map((operation) => [
      parametersNameOf(operation),
      parameterObject(parametersOf(operation.params)),
    ]),
  );
}

function parametersNameOf({ name }: Operation): string {
  return `${pascalCase(name)}Parameters`;
}

const ANSWER_HEADERS = [
  'X-Cache',
  'X-Job-Id',
  'X-Deduplicated',
  'RateLimit',
  'RateLimit-Policy',
  'Preference-Applied',
] as const;

/**
 * A 200 is the only success. The job of a call that has not ended (202) is described under `x-unfinished`, and not as a
 * response: with a response for it, generated clients would type each answer as "the answer or a job".
 */
function answersOf(operation: Operation): Record<string, ResponseObject | Reference> {
  const { name } = operation;
  if (operation.kind === 'local')
    return { 200: withExamples([operation], enveloped('The answer', dataOf(name))) };
  const { respond } = operation;
  return {
    200: respond.type === 'json' ? answerOf([operation], dataOf(name)) : PICTURE,
  };
}

function answerOf(operations: readonly Operation[], data: Parameters<typeof enveloped>[1]): ResponseObject {
  return withExamples(operations, enveloped('The answer', data, ...ANSWER_HEADERS));
}

/** Adds an example of the answer of each operation, by the name of the operation. */
function withExamples(operations: readonly Operation[], response: ResponseObject): ResponseObject {
  const examples = operations.flatMap(({ name }) => {
    const data = ANSWER_EXAMPLES[name];
    return data ? [[name, { value: { code: '0000', msg: 'success', data } }] as const] : [];
  });
  const { schema } = response.content?.['application/json'] ?? {};
  if (!schema) return response;
  return { ...response, content: { 'application/json': { schema, examples: Object.fromEntries(examples) } } };
}

const PICTURE: ResponseObject = {
  description: 'The picture',
  headers: headers(...ANSWER_HEADERS),
  content: { 'image/png': { schema: { type: 'string', format: 'binary' } } },
};

const UNFINISHED: Reference = { $ref: '#/components/responses/UnfinishedCall' };

/** The response of a call that has not ended, by its name in the document. */
export const UNFINISHED_RESPONSE: Record<string, ResponseObject> = {
  UnfinishedCall: acceptedJob(
    'Status 202: the call has not ended within the time that a request waits, or the request asked for a job. Its code is `ACCEPTED`',
    acceptedSchema,
    ...([...ANSWER_HEADERS, 'Location', 'Retry-After'] as const),
  ),
};

function errorsOf({ operation, route }: Served): ErrorKind[] {
  const hasSelection = operation.invalidKind || route.invalidJsonKind || route.jsonParameter;
  const badInput: ErrorKind[] = hasSelection ? ['SELECTION_INVALID'] : [];
  const badBody: ErrorKind[] = route.method === 'POST' ? ['UNSUPPORTED_MEDIA_TYPE'] : [];
  const all = [...badInput, ...badBody, ...COMMON_ERRORS, ...(operation.errors ?? [])];
  if (operation.kind === 'local') return all;
  return [
    ...all,
    ...QUOTA_ERRORS,
    'RECOVERING',
    'LIMIT_REACHED',
    'STORAGE_EXCEEDED',
    'CANCELLED',
    'UPSTREAM_ERROR',
    'UPSTREAM_TIMEOUT',
  ];
}
