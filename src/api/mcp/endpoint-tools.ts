import { z } from 'zod';
import type { JsonSchema } from '../../operations/params/documentation.ts';
import type { Toolset } from '../../operations/toolsets.ts';
import { BATCH_ENDPOINTS } from '../openapi/endpoints/batches.ts';
import type { Endpoint } from '../openapi/endpoints/endpoint.ts';
import { JOB_ENDPOINTS } from '../openapi/endpoints/jobs.ts';
import { SCHEDULE_ENDPOINTS } from '../openapi/endpoints/schedules.ts';
import { parametersOf } from '../openapi/parameters.ts';
import { componentSchemas } from '../openapi/schemas.ts';
import { OPTIONS } from './operation-tools.ts';
import type { Arguments, Tool, ToolRequest } from './tool.ts';
import { pathWith, queryOf, refuseUnknown, split, textOf } from './tool-requests.ts';
import { compactInput, compactOutput } from './tool-schemas.ts';

/** A tool for each address about jobs, batches and schedules that has one. */
export function endpointTools(): Tool[] {
  const schemas = componentSchemas();
  return [
    ...JOB_ENDPOINTS.map((endpoint) => toolOf('jobs', endpoint, schemas)),
    ...BATCH_ENDPOINTS.map((endpoint) => toolOf('batches', endpoint, schemas)),
    ...SCHEDULE_ENDPOINTS.map((endpoint) => toolOf('schedules', endpoint, schemas)),
  ].flatMap((tool) => tool ?? []);
}

const NO_PARAMETERS = z.object({});

interface Parts {
  endpoint: Endpoint;
  id: Record<string, JsonSchema>;
  query: Record<string, JsonSchema>;
  body: Record<string, JsonSchema>;
  required: readonly string[];
}

function toolOf(toolset: Toolset, endpoint: Endpoint, schemas: Record<string, JsonSchema>): Tool | null {
  const { method, tool: name, summary } = endpoint;
  if (!name) return null;
  const parts = partsOf(endpoint);
  const properties = { ...parts.id, ...parts.body, ...parts.query, ...optionsOf(parts) };
  const shown = Object.keys(properties);
  const known = new Set(shown);
  const reads = method === 'get';
  return {
    toolset,
    listed: {
      name,
      description: `${summary} ${endpoint.cost ? 'Its calls cost their units.' : 'Units: 0.'}`,
      inputSchema: {
        type: 'object',
        properties,
        ...(parts.required.length > 0 ? { required: [...parts.required] } : {}),
        additionalProperties: false,
      },
      outputSchema: compactOutput(...dataOf(endpoint, schemas)),
      annotations: {
        readOnlyHint: reads,
        idempotentHint: reads || method !== 'post',
        openWorldHint: false,
        ...(reads ? {} : { destructiveHint: method === 'delete' }),
      },
    },
    isJob: false,
    follows: followed(endpoint),
    narrowing: ['limit', 'cursor', 'state'].filter((parameter) => known.has(parameter)),
    requestOf(args) {
      refuseUnknown(args, known, shown);
      return requestOf(parts, args);
    },
    pricedBy: pricedBy(parts),
  };
}

function partsOf(endpoint: Endpoint): Parts {
  const body = endpoint.body?.content['application/json']?.schema as JsonSchema | undefined;
  const bodyFields = compactInput(body ?? {}).properties ?? {};
  const query = parametersOf(endpoint.query ?? NO_PARAMETERS).filter(
    ({ name }) => !(name in bodyFields) && !(name in OPTIONS),
  );
  return {
    endpoint,
    id: endpoint.idOf ? { id: { type: 'string', description: `Id of ${endpoint.idOf}` } } : {},
    query: Object.fromEntries(
      query.map(({ name, description, schema }) => [name, compactInput({ ...filter(schema), description })]),
    ),
    body: bodyFields as Record<string, JsonSchema>,
    required: [...(endpoint.idOf ? ['id'] : []), ...(body?.required ?? []).filter(isNoDefault(bodyFields))],
  };
}

/** Long lists of what can be filtered by are not worth their words: what is shown has the names. */
function filter({ enum: values, ...schema }: JsonSchema): JsonSchema {
  return values && values.length <= 10 ? { ...schema, enum: values } : schema;
}

function isNoDefault(fields: Record<string, unknown>) {
  return (name: string) => !('default' in ((fields[name] ?? {}) as object));
}

function optionsOf({ body }: Parts): Record<string, JsonSchema> {
  return Object.fromEntries(Object.entries(OPTIONS).filter(([name]) => !(name in body)));
}

/** Whether the address itself takes an option, in its query or its body. */
function takes({ endpoint, body }: Parts, option: string): boolean {
  return option in body || option in (endpoint.query?.shape ?? {});
}

function requestOf(parts: Parts, args: Arguments): ToolRequest {
  const { endpoint, body } = parts;
  const [inBody, others] = split(args, new Set(Object.keys(body)));
  const query = Object.fromEntries(
    Object.entries(others).filter(([name]) => name in parts.query || takes(parts, name)),
  );
  const url = `${pathWith(endpoint.path, args)}${queryOf(query)}`;
  const method = endpoint.method.toUpperCase() as ToolRequest['method'];
  return endpoint.body ? { method, url, body: textOf(inBody) } : { method, url };
}

function pricedBy(parts: Parts): Tool['pricedBy'] {
  const { cost } = parts.endpoint;
  if (cost) {
    return {
      requestOf: (args) => ({ method: 'GET', url: pathWith(cost.toldBy, args) }),
      unitsOf: cost.unitsOf,
    };
  }
  if (!takes(parts, 'dryRun')) return 'nobody';
  if (takes(parts, 'maxUnits')) return 'address';
  return {
    requestOf: (args) => requestOf(parts, { ...args, dryRun: true }),
    unitsOf: ({ units }) => units as number,
  };
}

function followed({ path }: Endpoint): Tool['follows'] {
  if (path === '/api/batches' || path === '/api/batches/{id}') return 'batch';
  return path === '/api/jobs/{id}' || path === '/api/jobs/{id}/result' ? 'job' : null;
}

/** The schemas of the data that an address may answer; none where they are not all known by name. */
function dataOf({ answers }: Endpoint, schemas: Record<string, JsonSchema>): JsonSchema[] {
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
