import {
  type DocumentedParameter,
  type ParameterForm,
  parametersOf,
} from '../../../api/openapi/parameters.ts';
import { exampleOf } from '../../../api/openapi/requests.ts';
import type { Operation, Route } from '../../../operations/define.ts';
import type { JsonSchema } from '../../../operations/params/documentation.ts';
import type { FormFaults, FormValues } from '../../kit/form-request.ts';

/** One thing to fill in, and how what is filled in becomes a value. */
export interface TryField {
  /** Of the parameter, as it is sent. */
  name: string;
  description: string;
  required: boolean;
  schema: JsonSchema;
  /** list: of texts or numbers, with commas between; json: any other. */
  kind: 'text' | 'integer' | 'boolean' | 'choice' | 'list' | 'json';
  /** Sent beside the others, not within an object of this name. */
  spread: boolean;
}

/** Names of fields in the form begin with it: parameters may be called anything. */
export const FIELD_PREFIX = 'p.';

/** The route a call is made by: the first there is. */
export function routeOf({ routes }: Operation): Route {
  return routes[0];
}

/** What an operation takes, what it needs first. */
export function tryFields(operation: Operation): readonly TryField[] {
  const route = routeOf(operation);
  const place = route.method === 'GET' && !route.jsonParameter ? 'query' : 'body';
  return parametersOf(operation.params)
    .flatMap((parameter) => formsIn(parameter, place).map((form) => fieldOf(parameter, form)))
    .sort((a, b) => Number(b.required) - Number(a.required));
}

/** The canonical name, or what takes its place in a query. */
function formsIn({ forms }: DocumentedParameter, place: 'query' | 'body'): readonly ParameterForm[] {
  const own = forms.filter(({ only }) => only === place);
  return own.length > 0 ? own : forms.slice(0, 1);
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
  const { type } = (items ?? {}) as JsonSchema;
  return type === 'string' || type === 'integer';
}

/** What a new form holds: an example of everything that is needed. */
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
 * The parameters that were filled in, as a body holds them. What cannot be read as what is wanted goes as it stands: the
 * service says best what is wrong with it.
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
      faults[FIELD_PREFIX + field.name] = `must be JSON${field.spread ? ', an object' : ''}`;
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
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}
