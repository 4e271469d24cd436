import { REPORT_SITE_CODES } from '../../operations/brand-analytics/keywords.ts';
import { jsonAnswerOf, type Operation, type Route } from '../../operations/define.ts';
import { OPERATIONS } from '../../operations/index.ts';
import { SITES } from '../../operations/params/domain.ts';
import type { JsonSchema } from '../../operations/params/request.ts';
import { invalidParameters } from '../../platform/errors.ts';
import { type DocumentedParameter, isAlwaysRequired, parametersOf } from '../openapi/parameters.ts';
import { scopesOfOperation } from '../plugins/authentication.ts';
import { SERIES_ARGUMENTS } from './compact-series.ts';
import { SITE_NAMES, siteParameterIn, withSite } from './site-arguments.ts';
import {
  type Arguments,
  isDecoded,
  type ObjectSchema,
  OPTION_NAMES,
  OPTIONS,
  type Tool,
  type ToolRequest,
  titleOf,
} from './tool.ts';
import { pathWith, queryOf, refuseUnknown, split, textOf, withoutNulls } from './tool-requests.ts';
import { compactFilters, compactInput } from './tool-schemas.ts';

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
  return OPERATIONS.map(toolOf);
}

function toolOf(operation: Operation): Tool {
  const { name, summary, tool, toolset, toolHint, params } = operation;
  const group = name.split('.')[0] ?? name;
  const parameters = parametersOf(params);
  const names = parameters.map((parameter) => parameter.name);
  const hasFilters = parameters.some(({ spread }) => spread);
  const inputSchema = inputOf(operation, parameters);
  const shown = Object.keys(inputSchema.properties ?? {});
  const site = siteParameterIn(names);
  const known = new Set([
    ...shown,
    ...names,
    ...parameters.flatMap(({ forms }) => forms.map((form) => form.name)),
    ...(site ? SITE_NAMES : []),
  ]);
  const route = routeOf(operation);
  const price = operation.kind === 'queued' ? operation.price.text : '0';
  return {
    toolset,
    scopes: scopesOfOperation(operation),
    summary: toolHint ? `${summary} ${toolHint}` : summary,
    price,
    listed: {
      name: tool,
      description: `${summary}${toolHint ? ` ${toolHint}` : ''} Units: ${price}.`,
      inputSchema,
      annotations: {
        title: titleOf(tool),
        readOnlyHint: true,
        destructiveHint: false,
        openWorldHint: operation.kind === 'queued' && OPEN_GROUPS.has(group),
      },
    },
    operation,
    isJob: operation.kind === 'queued',
    follows: operation.kind === 'queued' ? 'job' : null,
    narrowing: NARROWING.filter((parameter) => shown.includes(parameter)),
    requestOf(args) {
      const sent = withSite(withoutNulls(args), site);
      // Filters have further names, of which the address refuses the unknown ones.
      if (!hasFilters) refuseUnknown(sent, known, shown);
      return requestOf(
        route,
        names.includes('decode') ? withDecode(sent, operation) : withoutDecode(sent, operation),
      );
    },
    pricedBy: 'address',
  };
}

/** Returns the parameters of an operation whose address decodes. */
function withDecode(args: Arguments, { toolDefaults = {}, params }: Operation): Arguments {
  const decodes = isDecoded(args);
  const [limits, sent] = split(args, SERIES_NAMES);
  const { detailLevel, ...defaults }: Arguments = toolDefaults;
  if (Object.keys(limits).length > 0) {
    const problem = 'must not be false with from, to or points, which are for decoded histories';
    if (!decodes) throw invalidParameters([{ parameter: 'decode', problem }]);
    // The level that tools have by default has no histories, nor have searches without this parameter.
    const history = parametersOf(params).some(({ name }) => name === 'history') ? { history: true } : {};
    return { ...defaults, ...history, ...sent, decode: true };
  }
  const level = sent.detailLevel ?? detailLevel;
  // Tools decode the few values of this level themselves, so that they keep their names.
  const isNamed =
    level === 'summary' &&
    sent.decode === undefined &&
    !/\b(?:statistics|history)\b/.test(String(sent.fields));
  return { ...toolDefaults, ...(isNamed ? {} : { decode: decodes }), ...sent };
}

function withoutDecode({ decode, ...sent }: Arguments, { toolDefaults }: Operation): Arguments {
  isDecoded({ decode });
  return { ...toolDefaults, ...sent };
}

const DECODE: JsonSchema = { type: 'boolean', description: 'false: raw values' };

function inputOf(operation: Operation, parameters: readonly DocumentedParameter[]): ObjectSchema {
  const defaults: Arguments = operation.toolDefaults ?? {};
  const properties: Record<string, JsonSchema> = {};
  const required: string[] = [];
  const site = siteParameterIn(parameters.map(({ name }) => name));
  for (const parameter of parameters) {
    const { name, description, schema, spread } = parameter;
    // Tools have `from` and `to` instead of a range in Unix milliseconds, which they accept, too.
    if (name === 'decode' || name === 'dateRange') continue;
    const shown = name === site && site !== 'geo' ? 'country' : name;
    if (isAlwaysRequired(parameter) && !spread) required.push(shown);
    if (spread) Object.assign(properties, compactFilters(schema));
    else if (shown === 'country') properties.country = siteSchema(site === 'country');
    else if (name === 'fields') properties.fields = { type: 'string', description: 'Only these, as a,b.c' };
    else {
      const preset = defaults[name];
      const given = preset === undefined ? {} : { default: preset as JsonSchema['default'] };
      properties[name] = compactInput({ ...schema, description, ...given } as JsonSchema);
    }
  }
  const isDecodable = parameters.some(({ name }) => name === 'decode');
  return {
    type: 'object',
    properties: {
      ...properties,
      ...(isDecodable ? SERIES_ARGUMENTS : {}),
      ...(hasRecords(operation) ? { decode: DECODE } : {}),
      ...OPTIONS,
    },
    ...(required.length > 0 ? { required } : {}),
  };
}

/** Returns whether an operation has data that tools show in another form than its address. */
function hasRecords(operation: Operation): boolean {
  return operation.toolset !== 'account' && jsonAnswerOf(operation) !== null;
}

function siteSchema(hasReports: boolean): JsonSchema {
  const codes = hasReports ? REPORT_SITE_CODES : Object.values(SITES);
  return { type: 'string', description: `Site: ${codes.join(', ')}` };
}

/** Prefers a POST, because a body holds lists and objects. */
function routeOf({ routes }: Operation): Route {
  return routes.find(({ method, type }) => method === 'POST' && !type) ?? routes[0];
}

function requestOf({ method, path }: Route, args: Arguments): ToolRequest {
  const [options, parameters] = split(args, OPTION_NAMES);
  if (method === 'POST')
    return { method, url: `${path}${queryOf(options)}`, body: textOf(parameters), parameters };
  const names = new Set([...path.matchAll(/:(\w+)/g)].map(([, name = '']) => name));
  const [, others] = split(parameters, names);
  return { method, url: `${pathWith(path, parameters)}${queryOf({ ...others, ...options })}`, parameters };
}
