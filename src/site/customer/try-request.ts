import type { FastifyRequest } from 'fastify';
import {
  type DocumentedParameter,
  documentedForms,
  exampleOf,
  type ParameterForm,
  parametersOf,
} from '../../api/openapi/parameters.ts';
import { type GatewayAnswer, type GatewayRequest, readAtMost } from '../../api/self-client.ts';
import type { Operation } from '../../operations/define.ts';
import { isRecord, type JsonSchema } from '../../operations/params/request.ts';
import { indentJson, stringifyJson } from '../../platform/json.ts';
import { type FormFaults, FormRefused, type FormValues, jsonOf } from '../kit/form-request.ts';
import { type ApiEnvelope, envelopeOf, streamApi } from './customer-api.ts';

/** Answers up to this size are rendered into the page. The browser fetches larger ones. */
const SHOWN_BYTES = 64 * 1024;

/** The request of a call. */
export interface TryRequest extends GatewayRequest {
  body?: Record<string, unknown>;
}

/** Builds the request of a call: parameters in path, query or body, as the operation's route defines. */
export function tryRequest(operation: Operation, parameters: Readonly<Record<string, unknown>>): TryRequest {
  const [first] = operation.routes;
  // A query names the ends of a range, and a body has them as an object.
  const isForBody = Object.values(parameters).some(isRecord);
  const { method, path, jsonParameter } =
    (isForBody && operation.routes.find((route) => route.method === 'POST')) || first;
  if (method === 'POST') return { method, url: path, body: parameters };
  if (jsonParameter)
    return {
      method,
      url: `${path}?${new URLSearchParams({ [jsonParameter]: stringifyJson(parameters) })}`,
    };
  const rest = { ...parameters };
  const filled = path.replace(/:(\w+)/g, (_, name: string) => {
    const value = sent(rest[name] ?? '');
    delete rest[name];
    // An empty path segment would be another address.
    return encodeURIComponent(value || '-');
  });
  const query = new URLSearchParams(Object.entries(rest).map(([name, value]) => [name, sent(value)]));
  return { method, url: query.size > 0 ? `${filled}?${query}` : filled };
}

/** Adds an option such as a dry run to the query. */
export function withOption(request: TryRequest, option: string): TryRequest {
  const separator = request.url.includes('?') ? '&' : '?';
  return { ...request, url: `${request.url}${separator}${option}` };
}

function sent(value: unknown): string {
  if (Array.isArray(value)) return value.every(isScalar) ? value.join(',') : stringifyJson(value);
  return isScalar(value) ? String(value) : stringifyJson(value);
}

function isScalar(value: unknown): value is string | number | boolean {
  return typeof value !== 'object' || value === null;
}

/** A field of the form, and how its text becomes a value. */
export interface TryField {
  /** Name of the parameter. */
  name: string;
  description: string;
  required: boolean;
  schema: JsonSchema;
  /** list: texts or numbers separated by commas; json: any other structure. */
  kind: 'text' | 'integer' | 'boolean' | 'choice' | 'list' | 'json';
  /** The fields of the object are sent as parameters of their own. */
  spread: boolean;
}

/** Prefix of the fields that hold parameters, so that no parameter clashes with another field. */
export const FIELD_PREFIX = 'p.';

/** The fields of an operation, required ones first. @param place of the parameters in a request; default: that of its first route. */
export function tryFields(operation: Operation, place = placeOf(operation)): readonly TryField[] {
  return parametersOf(operation.params)
    .flatMap((parameter) => documentedForms(parameter, place).map((form) => fieldOf(parameter, form)))
    .sort((a, b) => Number(b.required) - Number(a.required));
}

function placeOf({ routes: [{ method, jsonParameter }] }: Operation): 'query' | 'body' {
  return method === 'GET' && !jsonParameter ? 'query' : 'body';
}

function fieldOf({ required, spread }: DocumentedParameter, form: ParameterForm): TryField {
  const { name, description, schema } = form;
  return { name, description, required, schema, kind: spread ? 'json' : kindOf(schema), spread };
}

function kindOf(schema: JsonSchema): TryField['kind'] {
  if (schema.enum) return 'choice';
  switch (schema.type) {
    case 'integer':
    case 'boolean':
      return schema.type;
    case 'array':
      return isPlain(schema.items) ? 'list' : 'json';
    case 'object':
      return 'json';
    default:
      return 'text';
  }
}

function isPlain(items: unknown): boolean {
  const { type, anyOf } = (items ?? {}) as JsonSchema;
  return anyOf ? anyOf.every(isPlain) : type === 'string' || type === 'integer';
}

/** The values of a new form: an example of every required parameter. */
export function exampleValues(fields: readonly TryField[]): FormValues {
  return Object.fromEntries(
    fields
      .filter(({ required }) => required)
      .map(({ name, kind, schema }) => [FIELD_PREFIX + name, written(exampleOf(schema), kind)]),
  );
}

function written(value: unknown, kind: TryField['kind']): string {
  if (value === undefined) return '';
  if (kind === 'list' && Array.isArray(value)) return value.join(', ');
  return kind !== 'json' && typeof value === 'string' ? value : JSON.stringify(value);
}

/**
 * Reads the parameters of a request body. A value of the wrong type is sent unchanged, and the API reports the fault.
 * @throws FormRefused.
 */
export function readFields(fields: readonly TryField[], values: FormValues): Record<string, unknown> {
  const parameters: Record<string, unknown> = {};
  const faults: FormFaults = {};
  for (const field of fields) {
    const text = values[FIELD_PREFIX + field.name]?.trim() ?? '';
    if (text === '') continue;
    const value = valueIn(field, text);
    if (value === undefined)
      faults[FIELD_PREFIX + field.name] = field.spread ? 'must be a JSON object' : 'must be valid JSON';
    else if (field.spread) Object.assign(parameters, value);
    else parameters[field.name] = value;
  }
  if (Object.keys(faults).length > 0) throw new FormRefused(400, faults);
  return parameters;
}

function valueIn({ kind, schema, spread }: TryField, text: string): unknown {
  switch (kind) {
    case 'integer':
      return numberOr(text);
    case 'boolean':
      return text === 'true' ? true : text === 'false' ? false : text;
    case 'choice':
      return schema.type === 'integer' ? numberOr(text) : text;
    case 'list': {
      const { type } = schema.items as JsonSchema;
      const items = text.split(',').map((item) => item.trim());
      return items.filter((item) => item !== '').map((item) => (type === 'integer' ? numberOr(item) : item));
    }
    case 'json': {
      const value = jsonOf(text);
      const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
      return spread && !isObject ? undefined : value;
    }
    default:
      return text;
  }
}

function numberOr(text: string): number | string {
  return /^-?\d{1,15}$/.test(text) ? Number(text) : text;
}

export interface Answered extends Pick<GatewayAnswer, 'status' | 'header'> {
  kind: 'answered';
  /** Indented JSON; null for a picture, or if the answer is too large. */
  text: string | null;
  jobId: string | null;
  isPicture: boolean;
}

export interface Refused extends Pick<GatewayAnswer, 'status' | 'header'> {
  kind: 'refused';
  envelope: ApiEnvelope;
}

/** The call continues as a job. */
interface Accepted {
  kind: 'accepted';
  jobId: string;
}

/** A call that takes longer is shown as its job. */
const WAIT_SECONDS = 20;

/** Makes a call. An answer that is too large to be shown is not read. */
export async function tryCall(
  request: FastifyRequest,
  call: GatewayRequest,
): Promise<Answered | Accepted | Refused> {
  const answer = await streamApi(request, call, { prefer: `wait=${WAIT_SECONDS}` });
  const { status, header } = answer;
  if (status >= 400) return { kind: 'refused', status, header, envelope: await envelopeOf(answer) };
  const jobId = header('x-job-id') ?? null;
  if (status === 202 && jobId !== null) {
    answer.body.destroy();
    return { kind: 'accepted', jobId };
  }
  const isPicture = header('content-type')?.startsWith('image/') ?? false;
  const text = isPicture ? null : await textOf(answer);
  answer.body.destroy();
  return { kind: 'answered', status, header, text, jobId, isPicture };
}

async function textOf(answer: GatewayAnswer): Promise<string | null> {
  const { bytes, isWhole } = await readAtMost(answer, SHOWN_BYTES);
  return isWhole ? indentJson(bytes.toString()) : null;
}
