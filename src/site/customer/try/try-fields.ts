import {
  type DocumentedParameter,
  documentedForms,
  type ParameterForm,
  parametersOf,
} from '../../../api/openapi/parameters.ts';
import { exampleOf } from '../../../api/openapi/requests.ts';
import type { Operation, Route } from '../../../operations/define.ts';
import type { JsonSchema } from '../../../operations/params/documentation.ts';
import { parseJson } from '../../../platform/json.ts';
import type { FormFaults, FormValues } from '../../kit/form-request.ts';

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

/** The route of a call: the first of the operation. */
export function routeOf({ routes }: Operation): Route {
  return routes[0];
}

/** The fields of an operation, required ones first. */
export function tryFields(operation: Operation): readonly TryField[] {
  const route = routeOf(operation);
  const place = route.method === 'GET' && !route.jsonParameter ? 'query' : 'body';
  return parametersOf(operation.params)
    .flatMap((parameter) => documentedForms(parameter, place).map((form) => fieldOf(parameter, form)))
    .sort((a, b) => Number(b.required) - Number(a.required));
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
 */
export function readFields(
  fields: readonly TryField[],
  values: FormValues,
): { ok: true; parameters: Record<string, unknown> } | { ok: false; faults: FormFaults } {
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
  return Object.keys(faults).length > 0 ? { ok: false, faults } : { ok: true, parameters };
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

function jsonOf(text: string): unknown {
  try {
    return parseJson(text);
  } catch {
    return undefined;
  }
}
