import type { JsonSchema } from '../../operations/params/request.ts';
import { TOOLSETS } from '../../operations/toolsets.ts';
import type { EndpointDescription } from '../endpoints/endpoint.ts';
import { ENDPOINTS } from '../endpoints/index.ts';
import { parametersOf } from '../openapi/parameters.ts';
import { bodySchemaOf, componentSchemas } from '../openapi/schemas.ts';
import { scopesOfEndpoint } from '../plugins/authentication.ts';
import { SERIES_ARGUMENTS } from './compact-series.ts';
import { OPTIONS } from './operation-tools.ts';
import { partSchema } from './parts.ts';
import { type Arguments, type Tool, type ToolRequest, titleOf } from './tool.ts';
import { pathWith, queryOf, refuseUnknown, split, textOf } from './tool-requests.ts';
import { compactInput, compactOutput } from './tool-schemas.ts';

/** A tool for each endpoint that declares one. */
export function endpointTools(): Tool[] {
  const schemas = componentSchemas();
  return ENDPOINTS.flatMap((endpoint) => toolOf(endpoint, schemas) ?? []);
}

interface Parts {
  endpoint: EndpointDescription;
  id: Record<string, JsonSchema>;
  query: Record<string, JsonSchema>;
  body: Record<string, JsonSchema>;
  required: readonly string[];
}

function toolOf(endpoint: EndpointDescription, schemas: Readonly<Record<string, JsonSchema>>): Tool | null {
  const { method, tag, tool: name, summary, follows = null } = endpoint;
  const toolset = TOOLSETS.find((one) => one === tag);
  if (!name || !toolset) return null;
  const parts = partsOf(endpoint);
  const hasParts = name === 'jobs_get_result';
  const properties = {
    ...parts.id,
    ...parts.body,
    ...parts.query,
    ...(hasParts ? { ...compactInput(bodySchemaOf(partSchema)).properties, ...SERIES_ARGUMENTS } : {}),
    ...optionsOf(parts),
  } as Record<string, JsonSchema>;
  const shown = Object.keys(properties);
  const known = new Set(shown);
  const reads = method === 'get';
  return {
    toolset,
    scopes: scopesOfEndpoint(endpoint),
    listed: {
      name,
      title: titleOf(name),
      description: `${summary} Units: ${endpoint.startsCalls ? 'those of the calls it starts' : '0'}.`,
      inputSchema: {
        type: 'object',
        properties,
        ...(parts.required.length > 0 ? { required: [...parts.required] } : {}),
        additionalProperties: false,
      },
      outputSchema: compactOutput(...dataOf(endpoint, schemas)),
      annotations: {
        readOnlyHint: reads,
        openWorldHint: false,
        ...(reads ? {} : { idempotentHint: method !== 'post', destructiveHint: method === 'delete' }),
      },
    },
    isJob: false,
    follows,
    // A stored answer that is not decoded has no histories with these arguments.
    hasSeries: () => hasParts,
    ...(hasParts ? { hasParts } : {}),
    narrowing: ['limit', 'cursor', 'state'].filter((parameter) => known.has(parameter)),
    requestOf(args) {
      refuseUnknown(args, known, shown);
      return requestOf(parts, args);
    },
    pricedBy: pricedBy(parts),
  };
}

function partsOf(endpoint: EndpointDescription): Parts {
  const { id, body: parsed = endpoint.document ?? endpoint.upload } = endpoint;
  const body = parsed && bodySchemaOf(parsed.schema);
  const bodyFields = compactInput(body ?? {}).properties ?? {};
  const query = (endpoint.query ? parametersOf(endpoint.query) : []).filter(
    ({ name }) => !(name in bodyFields) && !(name in OPTIONS),
  );
  return {
    endpoint,
    id: id ? { id: { type: 'string', description: `Id of ${id.of}` } } : {},
    query: Object.fromEntries(
      query.map(({ name, description, schema }) => [name, compactInput({ ...filter(schema), description })]),
    ),
    body: bodyFields as Record<string, JsonSchema>,
    required: [...(id ? ['id'] : []), ...(body?.required ?? []).filter(isNoDefault(bodyFields))],
  };
}

/** Omits long lists of filter values to save tokens: the listed entries show the values. */
function filter({ enum: values, ...schema }: JsonSchema): JsonSchema {
  return values && values.length <= 10 ? { ...schema, enum: values } : schema;
}

function isNoDefault(fields: Record<string, unknown>) {
  return (name: string) => !('default' in ((fields[name] ?? {}) as object));
}

function optionsOf({ body }: Parts): Record<string, JsonSchema> {
  return Object.fromEntries(Object.entries(OPTIONS).filter(([name]) => !(name in body)));
}

/** Returns whether the address accepts an option, in its query or its body. */
function takes({ endpoint, body }: Parts, option: string): boolean {
  return option in body || option in (endpoint.query?.shape ?? {});
}

function requestOf(parts: Parts, args: Arguments): ToolRequest {
  const { endpoint, body } = parts;
  const hasBody = endpoint.body ?? endpoint.document ?? endpoint.upload;
  const [inBody, others] = split(args, new Set(Object.keys(body)));
  const query = Object.fromEntries(
    Object.entries(others).filter(([name]) => name in parts.query || takes(parts, name)),
  );
  const url = `${pathWith(endpoint.path, args)}${queryOf(query)}`;
  const method = endpoint.method.toUpperCase() as ToolRequest['method'];
  return hasBody ? { method, url, body: textOf(inBody) } : { method, url };
}

function pricedBy(parts: Parts): Tool['pricedBy'] {
  const { cost } = parts.endpoint;
  if (cost) {
    return {
      requestOf: (args) => ({ method: 'GET', url: pathWith(cost.shownBy, args) }),
      unitsOf: cost.unitsOf,
    };
  }
  if (!takes(parts, 'dryRun')) return 'free';
  if (takes(parts, 'maxUnits')) return 'address';
  return {
    requestOf: (args) => requestOf(parts, { ...args, dryRun: true }),
    unitsOf: ({ units }) => units as number,
  };
}

/** Returns the schemas of the data that an address may return; none if one of them has no name. */
function dataOf({ answers }: EndpointDescription, schemas: Record<string, JsonSchema>): JsonSchema[] {
  const data = Object.values(answers).flatMap(({ content }): JsonSchema[] => {
    const envelope = content?.['application/json']?.schema as JsonSchema | undefined;
    const inner = envelope?.properties?.data;
    return typeof inner === 'object' ? [inner] : [];
  });
  if (data.some(({ anyOf }) => anyOf)) return [];
  return data.flatMap(({ $ref = '' }): JsonSchema[] => {
    const schema = schemas[String($ref).split('/').at(-1) ?? ''];
    return schema ? [schema] : [];
  });
}
