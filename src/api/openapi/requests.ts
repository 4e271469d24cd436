import type { JsonSchema } from '../../operations/params/documentation.ts';
import {
  type DocumentedParameter,
  documentedForms,
  isAlwaysRequired,
  type ParameterForm,
} from './parameters.ts';
import { withFormats } from './schemas.ts';
import type { ParameterObject } from './shape.ts';

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
export function parameterObject(parameters: readonly DocumentedParameter[], isStrict: boolean): JsonSchema {
  const result: JsonSchema = { type: 'object', properties: {} };
  const properties = result.properties ?? {};
  const required: string[] = [];
  const example: Record<string, unknown> = {};
  if (isStrict) result.additionalProperties = false;
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
