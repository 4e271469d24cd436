import type { JsonSchema } from '../../operations/params/request.ts';
import { TOOLSETS } from '../../operations/toolsets.ts';
import type { EndpointDescription } from '../endpoints/endpoint.ts';
import { ENDPOINTS } from '../endpoints/index.ts';
import { parametersOf } from '../openapi/parameters.ts';
import { bodySchemaOf } from '../openapi/schemas.ts';
import { scopesOfEndpoint } from '../plugins/authentication.ts';
import { SERIES_ARGUMENTS } from './compact-series.ts';
import { PARTS_TOOL, partSchema } from './parts.ts';
import { SITE_NAMES, siteParameterIn, withSites } from './site-arguments.ts';
import { type Arguments, OPTIONS, type Tool, type ToolRequest, titleOf } from './tool.ts';
import { pathWith, queryOf, refuseUnknown, split, textOf, withoutNulls } from './tool-requests.ts';
import { compactInput } from './tool-schemas.ts';

/** A tool for each endpoint that declares one. */
export function endpointTools(): Tool[] {
  return ENDPOINTS.flatMap((endpoint) => toolOf(endpoint) ?? []);
}

interface Parts {
  endpoint: EndpointDescription;
  id: Record<string, JsonSchema>;
  query: Record<string, JsonSchema>;
  body: Record<string, JsonSchema>;
  required: readonly string[];
}

const PART_ARGUMENTS = compactInput(bodySchemaOf(partSchema)).properties as Record<string, JsonSchema>;

/** The further arguments of tools whose answers are read in parts, because they have no pages. */
const PARTS_ARGUMENTS: Record<string, Record<string, JsonSchema>> = {
  [PARTS_TOOL]: {
    ...PART_ARGUMENTS,
    ...SERIES_ARGUMENTS,
    decode: { type: 'boolean', description: 'false: raw values' },
  },
  schedules_get: PART_ARGUMENTS,
  trackers_get: PART_ARGUMENTS,
};

function toolOf(endpoint: EndpointDescription): Tool | null {
  const { method, tag, tool: name, summary, follows = null } = endpoint;
  const toolset = TOOLSETS.find((one) => one === tag);
  if (!name || !toolset) return null;
  const parts = partsOf(endpoint);
  const partsArguments = PARTS_ARGUMENTS[name];
  const properties = {
    ...parts.id,
    ...parts.body,
    ...parts.query,
    ...partsArguments,
    ...optionsOf(parts),
  } as Record<string, JsonSchema>;
  const shown = Object.keys(properties);
  const known = new Set([...shown, ...(siteParameterIn(Object.keys(parts.body)) ? SITE_NAMES : [])]);
  const reads = method === 'get';
  const price = endpoint.startsCalls ? 'those of the calls it starts' : '0';
  return {
    toolset,
    scopes: scopesOfEndpoint(endpoint),
    summary,
    price,
    listed: {
      name,
      description: `${summary} Units: ${price}.`,
      inputSchema: {
        type: 'object',
        properties,
        ...(parts.required.length > 0 ? { required: [...parts.required] } : {}),
      },
      annotations: {
        title: titleOf(name),
        readOnlyHint: reads,
        destructiveHint: method === 'delete',
        openWorldHint: false,
        ...(reads ? {} : { idempotentHint: method !== 'post' }),
      },
    },
    operation: null,
    isJob: false,
    follows,
    ...(partsArguments ? { hasParts: true } : {}),
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
  // Tools return no files, and stored answers as they are.
  const ofFiles = endpoint.tool === PARTS_TOOL ? ['format', 'table'] : ['format'];
  const query = (endpoint.query ? parametersOf(endpoint.query) : []).filter(
    ({ name }) => !(name in bodyFields) && !(name in OPTIONS) && !ofFiles.includes(name),
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

function requestOf(parts: Parts, given: Arguments): ToolRequest {
  const { endpoint, body } = parts;
  const hasBody = endpoint.body ?? endpoint.document ?? endpoint.upload;
  // In a change, null removes a value.
  const args = withSites(endpoint.method === 'post' ? withoutNulls(given) : given, Object.keys(body));
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
