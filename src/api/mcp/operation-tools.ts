import type { Operation, Route } from '../../operations/define.ts';
import { OPERATIONS } from '../../operations/index.ts';
import type { JsonSchema } from '../../operations/params/request.ts';
import { isAlwaysRequired, isStrict, parametersOf } from '../openapi/parameters.ts';
import { componentSchemas, pascalCase } from '../openapi/schemas.ts';
import { scopesOfOperation } from '../plugins/authentication.ts';
import { SERIES_ARGUMENTS } from './compact-series.ts';
import { type Arguments, type ObjectSchema, type Tool, type ToolRequest, titleOf } from './tool.ts';
import { pathWith, queryOf, refuseUnknown, split, textOf } from './tool-requests.ts';
import { compactFilters, compactInput, compactOutput } from './tool-schemas.ts';

/** Parameters of every tool. The instructions of the server explain them once for all tools. */
export const OPTIONS: Record<string, JsonSchema> = {
  maxUnits: { type: 'integer' },
  dryRun: { type: 'boolean' },
};

const OPTION_NAMES = new Set(Object.keys(OPTIONS));

/** Arguments that change how a tool shows its answer. They are not sent to the address. */
const SERIES_NAMES = new Set(Object.keys(SERIES_ARGUMENTS));

/** Groups whose data comes from upstream, not from our own database. */
const OPEN_GROUPS = new Set(['market', 'trends', 'research']);

/** Parameters that make an answer smaller, the most effective first. */
const NARROWING = [
  'fields',
  'detailLevel',
  'perPage',
  'page',
  'limit',
  'afterRank',
  'history',
  'days',
  'csvDays',
  'points',
  'asin',
];

/** A tool for each operation, from its contract. */
export function operationTools(): Tool[] {
  const schemas = componentSchemas();
  return OPERATIONS.map((operation) => toolOf(operation, schemas[`${pascalCase(operation.name)}Data`]));
}

function toolOf(operation: Operation, data: JsonSchema | undefined): Tool {
  const { name, tool, toolset, toolHint, toolDefaults = {} } = operation;
  const group = name.split('.')[0] ?? name;
  const parameters = parametersOf(operation.params);
  const names = parameters.map((parameter) => parameter.name);
  const isDecodable = names.includes('decode');
  const hasFilters = parameters.some(({ spread }) => spread);
  const known = new Set([
    ...names,
    ...parameters.flatMap(({ forms }) => forms.map((form) => form.name)),
    ...OPTION_NAMES,
    ...(isDecodable ? SERIES_NAMES : []),
  ]);
  const shown = [...names, ...OPTION_NAMES, ...(isDecodable ? SERIES_NAMES : [])];
  const route = routeOf(operation);
  const isPicture = operation.kind === 'queued' && operation.respond.type === 'png';
  return {
    toolset,
    scopes: scopesOfOperation(operation),
    listed: {
      name: tool,
      title: titleOf(tool),
      description: `${operation.summary}${toolHint ? ` ${toolHint}` : ''} Units: ${operation.kind === 'queued' ? operation.price.text : '0'}.`,
      inputSchema: inputOf(operation),
      ...(isPicture ? {} : { outputSchema: compactOutput(...(data ? [data] : [])) }),
      annotations: {
        readOnlyHint: true,
        openWorldHint: operation.kind === 'queued' && OPEN_GROUPS.has(group),
      },
    },
    isJob: operation.kind === 'queued',
    follows: operation.kind === 'queued' ? 'job' : null,
    hasSeries: (args) => isDecodable && (Boolean(args.decode) || isLimited(args)),
    narrowing: NARROWING.filter((name) => shown.includes(name)),
    requestOf(args) {
      // These operations refuse unknown fields themselves.
      if (!isStrict(operation.params) && !hasFilters) refuseUnknown(args, known, shown);
      if (!isDecodable || !isLimited(args))
        return requestOf(route, { ...toolDefaults, ...withoutNulls(args) });
      // The level that tools have by default has no histories.
      const { detailLevel: _, ...defaults }: Arguments = toolDefaults;
      const [, sent] = split(withoutNulls(args), SERIES_NAMES);
      return requestOf(route, { ...defaults, decode: true, ...sent });
    },
    pricedBy: 'address',
  };
}

function inputOf(operation: Operation): ObjectSchema {
  const { params, toolDefaults = {} } = operation;
  const properties: Record<string, JsonSchema> = {};
  const parameters = parametersOf(params);
  const defaults: Record<string, unknown> = toolDefaults;
  for (const { name, description, schema, spread } of parameters) {
    if (spread) {
      Object.assign(properties, compactFilters(schema));
      continue;
    }
    if (name === 'fields') {
      // The instructions of the server explain it once.
      properties.fields = { type: 'string' };
      continue;
    }
    if (name === 'decode') {
      Object.assign(properties, { decode: { type: 'boolean' }, ...SERIES_ARGUMENTS });
      continue;
    }
    const preset = defaults[name];
    properties[name] = compactInput({
      ...schema,
      description,
      ...(preset === undefined ? {} : { default: preset as JsonSchema['default'] }),
    } as JsonSchema);
  }
  const spread = parameters.find((parameter) => parameter.spread);
  const required = parameters
    .filter((parameter) => isAlwaysRequired(parameter) && parameter !== spread)
    .map(({ name }) => name);
  return {
    type: 'object',
    properties: { ...properties, ...OPTIONS },
    ...(required.length > 0 ? { required } : {}),
    // Most filters of the provider are known by patterns of their names only, so they are not listed.
    additionalProperties: spread !== undefined,
  };
}

/** Prefers a POST, because a body holds lists and objects. */
function routeOf({ routes }: Operation): Route {
  return routes.find(({ method, type }) => method === 'POST' && !type) ?? routes[0];
}

function requestOf({ method, path }: Route, args: Arguments): ToolRequest {
  const [options, parameters] = split(args, OPTION_NAMES);
  if (method === 'POST') return { method, url: `${path}${queryOf(options)}`, body: textOf(parameters) };
  const names = new Set([...path.matchAll(/:(\w+)/g)].map(([, name = '']) => name));
  const [, others] = split(parameters, names);
  return { method, url: `${pathWith(path, parameters)}${queryOf({ ...others, ...options })}` };
}

/** Returns whether a call requests some points of histories. */
function isLimited(args: Arguments): boolean {
  return [...SERIES_NAMES].some((name) => args[name] !== undefined && args[name] !== null);
}

/** Some models send null for every parameter that they do not use. */
function withoutNulls(args: Arguments): Arguments {
  return Object.fromEntries(Object.entries(args).filter(([, value]) => value !== null));
}
