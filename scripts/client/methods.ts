import { LONGEST_POLL_SECONDS } from '../../src/api/job-view.ts';
import { openApiDocument } from '../../src/api/openapi/document.ts';
import type {
  Method,
  OperationObject,
  ParameterObject,
  Reference,
  ResponseObject,
} from '../../src/api/openapi/schemas.ts';
import type { JsonSchema } from '../../src/operations/params/request.ts';
import { BY_HAND, ENDPOINT_METHODS, operationMethod } from './method-names.ts';

/** A method of the client. */
export interface ClientMethod {
  /** `market.product`. */
  name: string;
  operationId: string;
  method: Method;
  path: string;
  summary: string;
  /** The name of the operation for batches, and its price in words; only for operations. */
  operation?: string;
  price?: string;
  /** The names of its tables, if its answers have rows. */
  tables: readonly string[];
  timeoutSeconds: number;
  /** charged: an identical call within five minutes is not charged again; never: a repetition would do it twice. */
  repeats: 'charged' | 'always' | 'never';
  /** Whether the path has the parameter `{id}`. */
  hasId: boolean;
  /** Query and path parameters, or the body. */
  parameters: JsonSchema | null;
  /** Schema of `data`; null for a picture. */
  data: JsonSchema | Reference | null;
}

export const DOCUMENT = openApiDocument();

/** The named schemas of the document. */
export const SCHEMAS: Readonly<Record<string, JsonSchema>> = DOCUMENT.components.schemas;

/** The time beyond the limit of an operation after which the client gives up. */
const MARGIN_SECONDS = 15;
const FREE_SECONDS = 30;
/** A worker may take a minute to read a batch, and a gateway some time for a large schedule. */
const UPLOAD_SECONDS = 90;

/** The limits of other free requests that wait in the service: for the end of a job, or for a worker. */
const WAITING_SECONDS: Readonly<Record<string, number>> = {
  getJob: LONGEST_POLL_SECONDS + MARGIN_SECONDS,
  runSchedule: UPLOAD_SECONDS,
  runTracker: UPLOAD_SECONDS,
};

/** The POST endpoints that a client may repeat after a failure: they change nothing, or recognise a repeated request by its key. */
const REPEATS: Readonly<Record<string, ClientMethod['repeats']>> = {
  createJob: 'charged',
  createBatch: 'always',
  quoteJob: 'always',
  quoteBatch: 'always',
  quoteSchedule: 'always',
  quoteTracker: 'always',
};

/** Returns the methods of the client, from the operations of the document. */
export function clientMethods(): ClientMethod[] {
  return Object.entries(DOCUMENT.paths).flatMap(([path, item]) =>
    Object.entries(item)
      .filter(([method, described]) => isMethod(described, method as Method, item))
      .map(([method, described]) => methodOf(path, method as Method, described)),
  );
}

/** Aliases are left out, and the GET of an operation that has a POST: bodies have no limit of their length in a URL. */
function isMethod({ operationId, deprecated, ...described }: OperationObject, method: Method, item: object) {
  const isSecondForm = described['x-operation'] !== undefined && method === 'get' && 'post' in item;
  return !deprecated && !isSecondForm && !BY_HAND.includes(operationId);
}

function methodOf(path: string, method: Method, described: OperationObject): ClientMethod {
  const { operationId, summary, parameters = [], requestBody } = described;
  const operation = described['x-operation'] as string | undefined;
  const name = operation ? operationMethod(operation) : ENDPOINT_METHODS[operationId];
  if (!name) throw new Error(`${operationId} has no method in scripts/client/method-names.ts`);
  const timeouts = described['x-timeout-seconds'] as number[] | undefined;
  const body = requestBody?.content['application/json']?.schema;
  return {
    name,
    operationId,
    method,
    path,
    summary,
    ...(operation ? { operation, price: String(described['x-units']) } : {}),
    tables: (described['x-tables'] as string[] | undefined) ?? [],
    timeoutSeconds: timeouts ? Math.max(...timeouts) + MARGIN_SECONDS : freeSecondsOf(described),
    repeats: repeatsOf(method, described),
    hasId: path.includes('{id}'),
    parameters: body ? resolved(body) : fromQuery(parameters),
    data: dataOf(described),
  };
}

function freeSecondsOf({ operationId, tags, requestBody }: OperationObject): number {
  const isUpload = requestBody !== undefined && ['batches', 'schedules', 'trackers'].includes(tags[0] ?? '');
  return WAITING_SECONDS[operationId] ?? (isUpload ? UPLOAD_SECONDS : FREE_SECONDS);
}

function repeatsOf(method: Method, { operationId, ...described }: OperationObject): ClientMethod['repeats'] {
  if (described['x-timeout-seconds']) return 'charged';
  return REPEATS[operationId] ?? (method === 'post' && !described['x-operation'] ? 'never' : 'always');
}

function resolved(schema: JsonSchema | Reference): JsonSchema {
  if (!('$ref' in schema)) return schema;
  const name = String(schema.$ref).split('/').at(-1) ?? '';
  return SCHEMAS[name] as JsonSchema;
}

/** Returns query and path parameters as an object; those of all calls are options of the client instead. */
function fromQuery(parameters: readonly (ParameterObject | Reference)[]): JsonSchema | null {
  const own = parameters.flatMap((parameter) =>
    '$ref' in parameter || parameter.name === 'id' ? [] : [parameter],
  );
  if (own.length === 0) return null;
  const properties = Object.fromEntries(
    own.map(({ name, schema, description }) => [name, { ...schema, description }]),
  );
  return {
    type: 'object',
    properties,
    required: own.filter(({ required }) => required).map(({ name }) => name),
  } as JsonSchema;
}

function dataOf({ responses }: OperationObject): ClientMethod['data'] {
  const answer = (responses[200] ?? responses[201] ?? responses[202]) as ResponseObject;
  const schema = answer.content?.['application/json']?.schema as JsonSchema | undefined;
  return (schema?.properties?.data as JsonSchema | undefined) ?? null;
}
