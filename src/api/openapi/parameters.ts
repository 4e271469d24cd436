import { z } from 'zod';
import {
  GROUP_DOCUMENTATION,
  type GroupDocumentation,
  type JsonSchema,
  REQUEST_GROUPS,
} from '../../operations/params/documentation.ts';

/** A parameter of an operation, as its contract has it. */
export interface DocumentedParameter {
  /** In the canonical input, and for callers who send one form only, such as tools. */
  name: string;
  description: string;
  required: boolean;
  /** Of the canonical value; with bounds, default and examples. */
  schema: JsonSchema;
  /** What a request can carry it as. Several names that are sent must agree, or are taken together where they are lists. */
  forms: readonly ParameterForm[];
  /** What it holds is sent beside the other parameters, not within an object of this name. */
  spread: boolean;
}

export interface ParameterForm {
  name: string;
  description: string;
  schema: JsonSchema;
  /** Absent: in a query and in a body. */
  only?: 'query' | 'body';
}

/** The parameters that `params` of a contract takes, in the order of the contract. */
export function parametersOf(params: z.ZodType): readonly DocumentedParameter[] {
  const known = KNOWN.get(params);
  if (known) return known;
  const parameters = read(params);
  KNOWN.set(params, parameters);
  return parameters;
}

/** Every route of an operation asks for the same. */
const KNOWN = new WeakMap<z.ZodType, readonly DocumentedParameter[]>();

function read(params: z.ZodType): DocumentedParameter[] {
  const object = objectOf(params);
  if (!object) return [];
  const groups = REQUEST_GROUPS.get(object) ?? {};
  return Object.entries(object.shape).map(([name, field]) => {
    const documentation = GROUP_DOCUMENTATION.get(field);
    return documentation ? ofGroup(name, field, documentation, groups[name] ?? [name]) : ofField(name, field);
  });
}

/** Whether fields that are no parameters are refused instead of ignored. */
export function isStrict(params: z.ZodType): boolean {
  return objectOf(params)?._zod.def.catchall?._zod.def.type === 'never';
}

/** The object of parameters as tools and bodies without other forms take it. */
export function inputSchema(params: z.ZodType): JsonSchema {
  const parameters = parametersOf(params);
  const required = parameters.filter((parameter) => parameter.required).map(({ name }) => name);
  return {
    type: 'object',
    properties: Object.fromEntries(
      parameters.map(({ name, description, schema }) => [name, { ...schema, description }]),
    ),
    ...(required.length > 0 ? { required } : {}),
    additionalProperties: false,
  };
}

function ofField(name: string, field: z.core.$ZodType): DocumentedParameter {
  const { description = '', ...schema } = jsonSchemaOf(field);
  const required = !z.safeParse(field, undefined).success;
  return { name, description, required, schema, forms: [{ name, description, schema }], spread: false };
}

function ofGroup(
  name: string,
  field: z.core.$ZodType,
  { description, required, forms = {}, spread = false }: GroupDocumentation,
  names: readonly string[],
): DocumentedParameter {
  const { description: _, ...schema } = jsonSchemaOf(field);
  // The canonical name comes first.
  const ordered = [...names].sort((a, b) => Number(b === name) - Number(a === name));
  return {
    ...{ name, description, required, schema, spread },
    forms: ordered.map((form) => ({ name: form, description, schema, ...forms[form] })),
  };
}

/** The object in a contract's `params`, which may be prepared before and refined after. */
function objectOf(schema: z.core.$ZodType): z.ZodObject | null {
  if (schema instanceof z.ZodObject) return schema;
  if (!(schema instanceof z.ZodPipe)) return null;
  const { in: before, out: after } = schema._zod.def;
  return objectOf(before instanceof z.ZodTransform ? after : before);
}

/** What a caller may send. Of a schema that transforms, zod leaves out defaults and examples; ours can be sent themselves. */
function jsonSchemaOf(field: z.core.$ZodType): JsonSchema {
  const { $schema: _, ...schema } = z.toJSONSchema(field, {
    io: 'input',
    unrepresentable: 'any',
    override({ zodSchema, jsonSchema }) {
      const { examples } = z.globalRegistry.get(zodSchema) ?? {};
      if (Array.isArray(examples)) jsonSchema.examples = examples;
      if (zodSchema instanceof z.ZodDefault)
        jsonSchema.default = zodSchema._zod.def.defaultValue as JsonSchema['default'];
      // Literals of whole numbers are called numbers.
      if (jsonSchema.type === 'number' && jsonSchema.enum?.every(Number.isInteger))
        jsonSchema.type = 'integer';
    },
  });
  return schema;
}
