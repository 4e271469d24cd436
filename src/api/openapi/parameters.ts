import { z } from 'zod';
import {
  GROUP_DOCUMENTATION,
  type GroupDocumentation,
  type JsonSchema,
  objectOf,
  PARAMETER_PARTS,
  REQUEST_GROUPS,
} from '../../operations/params/request.ts';
import { VISIBLE } from '../../operations/params/scalars.ts';
import { callOptionsSchema } from '../operations/call-options.ts';
import { type ParameterObject, type Reference, withFormats } from './schemas.ts';

/** A parameter of an operation, from its contract. */
export interface DocumentedParameter {
  /** Name in the canonical input, which is also the name for tools. */
  name: string;
  description: string;
  required: boolean;
  /** Another parameter, which a request may have instead of this required one. */
  unless: string | null;
  /** Schema of the canonical value, with bounds, default and examples. */
  schema: JsonSchema;
  /** Names and forms that a request may use. If several are sent, they must agree; lists are combined. */
  forms: readonly ParameterForm[];
  /** Its fields are sent alongside the other parameters, not within an object of this name. */
  spread: boolean;
}

export interface ParameterForm {
  name: string;
  description: string;
  schema: JsonSchema;
  /** Default: in a query and in a body. */
  only?: 'query' | 'body';
}

/** Returns the parameters in a contract's `params`, in their order. */
export function parametersOf(params: z.ZodType): readonly DocumentedParameter[] {
  const known = KNOWN.get(params);
  if (known) return known;
  const parameters = read(params);
  KNOWN.set(params, parameters);
  return parameters;
}

/** Caches the parameters, which every route of an operation needs. */
const KNOWN = new WeakMap<z.ZodType, readonly DocumentedParameter[]>();

function read(params: z.ZodType): DocumentedParameter[] {
  const parts = PARAMETER_PARTS.get(params);
  if (parts) return parts.flatMap(read);
  const object = objectOf(params);
  if (!object) return [];
  const groups = REQUEST_GROUPS.get(object) ?? {};
  return Object.entries(object.shape).flatMap(([name, field]) => {
    if (isRefused(field)) return [];
    const documentation = GROUP_DOCUMENTATION.get(field);
    return documentation ? ofGroup(name, field, documentation, groups[name] ?? [name]) : ofField(name, field);
  });
}

/** Returns the forms for this place, or else the first, which has the canonical name. */
export function documentedForms(
  { forms }: DocumentedParameter,
  place: 'query' | 'body',
): readonly ParameterForm[] {
  const own = forms.filter(({ only }) => only === place);
  return own.length > 0 ? own : forms.slice(0, 1);
}

/** Returns whether every request has the parameter. */
export function isAlwaysRequired({ required, unless }: DocumentedParameter): boolean {
  return required && unless === null;
}

/** Returns the schema of the parameters as an object under their canonical names. */
export function inputSchema(params: z.ZodType): JsonSchema {
  const parameters = parametersOf(params);
  const required = parameters.filter(isAlwaysRequired).map(({ name }) => name);
  return {
    type: 'object',
    properties: Object.fromEntries(
      parameters.map(({ name, description, schema }) => [name, { ...schema, description }]),
    ),
    ...(required.length > 0 ? { required } : {}),
    additionalProperties: false,
  };
}

/** Returns whether every value of the parameter is refused; such a parameter is not listed. */
function isRefused(field: z.core.$ZodType): boolean {
  return field instanceof z.ZodOptional && field.unwrap() instanceof z.ZodNever;
}

function ofField(name: string, field: z.core.$ZodType): DocumentedParameter {
  const { description = '', ...schema } = jsonSchemaOf(field);
  const required = !z.safeParse(field, undefined).success;
  const forms = [{ name, description, schema }];
  return { name, description, required, unless: null, schema, forms, spread: false };
}

function ofGroup(
  name: string,
  field: z.core.$ZodType,
  { description, required, unless, forms = {}, spread = false }: GroupDocumentation,
  names: readonly string[],
): DocumentedParameter {
  const { description: _, ...schema } = jsonSchemaOf(field);
  // The canonical name comes first.
  const ordered = [...names].sort((a, b) => Number(b === name) - Number(a === name));
  return {
    name,
    description,
    required,
    unless: unless ?? null,
    schema,
    spread,
    forms: ordered.map((form) => ({ name: form, description, schema, ...forms[form] })),
  };
}

/** Returns the JSON Schema of accepted values. Adds defaults and examples, which zod omits for schemas that transform. */
function jsonSchemaOf(field: z.core.$ZodType): JsonSchema {
  const { $schema: _, ...schema } = z.toJSONSchema(field, {
    io: 'input',
    unrepresentable: 'any',
    override({ zodSchema, jsonSchema }) {
      const { examples } = z.globalRegistry.get(zodSchema) ?? {};
      if (Array.isArray(examples)) jsonSchema.examples = examples;
      if (zodSchema instanceof z.ZodDefault)
        jsonSchema.default = zodSchema._zod.def.defaultValue as JsonSchema['default'];
      // zod calls integer literals numbers.
      if (jsonSchema.type === 'number' && jsonSchema.enum?.every(Number.isInteger))
        jsonSchema.type = 'integer';
    },
  });
  return schema;
}

/**
 * Parameters of every call in addition to those of its operation, by name. Parameters that change the meaning of a 200 have addresses of their
 * own, so the document describes them in words only.
 */
export const OPTION_PARAMETERS: Record<string, ParameterObject> = {
  ...Object.fromEntries(
    queryParameters(parametersOf(callOptionsSchema.pick({ maxUnits: true }))).map((parameter) => [
      parameter.name,
      parameter,
    ]),
  ),
  webhook: {
    name: 'webhook',
    in: 'query',
    required: false,
    description:
      'An http or https address that receives a delivery when the job has ended; requires a signing secret',
    schema: { type: 'string', format: 'uri', minLength: 1, maxLength: 2000, pattern: VISIBLE },
    example: 'https://example.com/hook',
  },
};

export const CALL_OPTIONS = Object.keys(OPTION_PARAMETERS);

/** Returns a reference to one of them. */
export function option(name: string): Reference {
  return { $ref: `#/components/parameters/${name}` };
}

/** Describes parameters in a query or a path. */
export function queryParameters(
  parameters: readonly DocumentedParameter[],
  pathNames: readonly string[] = [],
): ParameterObject[] {
  return parameters.flatMap((parameter) => {
    const forms = documentedForms(parameter, 'query');
    return forms.map((form) => {
      const inPath = pathNames.includes(form.name);
      const schema = withFormats(sent(form.schema));
      return {
        name: form.name,
        in: inPath ? ('path' as const) : ('query' as const),
        required: inPath || (isAlwaysRequired(parameter) && forms.length === 1),
        ...(parameter.unless ? { 'x-required-unless': parameter.unless } : {}),
        description: described(parameter, form),
        schema,
        example: exampleOf(schema),
        // Both `a,b` and `a=1&a=2` are accepted; the first is shorter.
        ...(schema.type === 'array' ? { style: 'form' as const, explode: false } : {}),
      };
    });
  });
}

/** Describes parameters as an object, in a body or as JSON in a query. */
export function parameterObject(parameters: readonly DocumentedParameter[]): JsonSchema {
  const result: JsonSchema = { type: 'object', properties: {}, additionalProperties: false };
  const properties = result.properties ?? {};
  const required: string[] = [];
  const example: Record<string, unknown> = {};
  for (const parameter of parameters) {
    const forms = documentedForms(parameter, 'body');
    const [first] = forms;
    if (parameter.spread) {
      Object.assign(properties, parameter.schema.properties);
      const { patternProperties, additionalProperties } = parameter.schema;
      if (patternProperties) result.patternProperties = patternProperties;
      if (additionalProperties !== undefined) result.additionalProperties = additionalProperties;
      Object.assign(example, parameter.schema.examples?.[0]);
      continue;
    }
    for (const form of forms)
      properties[form.name] = { ...form.schema, description: described(parameter, form) };
    if (!parameter.required || !first) continue;
    example[first.name] = exampleOf(first.schema);
    if (isAlwaysRequired(parameter)) required.push(first.name);
  }
  if (required.length > 0) result.required = required;
  return { ...withFormats(result), examples: [example] };
}

function described({ name, forms }: DocumentedParameter, form: ParameterForm): string {
  const others = forms.filter((one) => !one.only && one.name !== name).map((one) => `\`${one.name}\``);
  return others.length === 0 || form.only
    ? form.description
    : `${form.description}. Also accepted as ${others.join(' or ')}`;
}

/** Removes null from a schema, because a query cannot contain it. */
function sent(schema: JsonSchema): JsonSchema {
  const { anyOf, default: preset, ...rest } = schema;
  const others = anyOf?.filter(({ type }) => type !== 'null');
  const [only] = others ?? [];
  const merged = only && others?.length === 1 ? { ...only, ...rest } : schema;
  return preset === null || preset === undefined ? merged : { ...merged, default: preset };
}

/** Returns an example: the one in the schema, or one within its bounds. */
export function exampleOf(schema: JsonSchema): unknown {
  const { examples, default: preset, enum: values, type, minimum } = schema;
  if (examples?.length) return examples[0];
  if (type === 'boolean') return true;
  if (preset !== undefined && preset !== null) return preset;
  if (values?.length) return values[0];
  return type === 'integer' ? Math.max(1, minimum ?? 1) : undefined;
}
