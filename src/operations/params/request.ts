import { z } from 'zod';
import { callerJsonFault } from '../../platform/caller-json.ts';
import { invalidParameters } from '../../platform/errors.ts';
import { parseJson, stringifyJson } from '../../platform/json.ts';
import type { RawRequest, Route } from '../define.ts';
import { unknownKeys } from '../faults.ts';

/** A JSON Schema, draft 2020-12, which is the dialect of OpenAPI 3.1. */
export type JsonSchema = z.core.JSONSchema.BaseSchema;

/** Documentation of a parameter that is read from a group of names, since its zod schema does not contain it. */
export interface GroupDocumentation {
  description: string;
  required: boolean;
  /** Another parameter, which a request may have instead of this required one. */
  unless?: string;
  /** Schema of the canonical value. It applies to every name that `forms` does not list. */
  schema: JsonSchema;
  /** Names whose value has another form, or that only a query or a body accepts. */
  forms?: Readonly<Record<string, { schema: JsonSchema; description: string; only?: 'query' | 'body' }>>;
  /** The fields of the parameter are sent alongside the other parameters, not in an object of this name. */
  spread?: boolean;
}

/** Documentation of the fields of `request`. Separate from zod's global registry, whose ids affect other generators. */
export const GROUP_DOCUMENTATION = z.registry<GroupDocumentation>();

/** The schemas that together read the parameters of an operation; the first has its own parameters. */
export const PARAMETER_PARTS = new WeakMap<z.ZodType, readonly [z.ZodType, ...z.ZodType[]]>();

/** The groups of each object that `request` created. */
export const REQUEST_GROUPS = z.registry<Record<string, readonly string[]>>();

/**
 * The routes of an operation that takes a selection: as the body of a POST, or in a GET's `selection`, as JSON.
 * @param alongside parameters of a GET that may stand alongside the selection, if it may be pasted too, as text that is not the JSON
 * of a selection.
 */
export function selectionRoutes(
  paths: readonly [string, ...string[]],
  alongside: readonly string[] | null = null,
): readonly [Route, ...Route[]] {
  const decode = (request: RawRequest) => selectionOf(request, alongside);
  const routes = paths.flatMap((path): Route[] => [
    { method: 'POST', path, invalidJsonKind: 'SELECTION_INVALID' },
    { method: 'GET', path, decode, jsonParameter: 'selection' },
  ]);
  return routes as [Route, ...Route[]];
}

function selectionOf({ query }: RawRequest, alongside: readonly string[] | null): unknown {
  const { selection } = query;
  if (selection === undefined || selection === '')
    throw fault('is required: it must be a JSON object, URL-encoded, with all fields, also the site');
  if (typeof selection !== 'string') throw fault('was given more than once');
  const others = (alongside ?? []).filter((name) => query[name] !== undefined);
  const given = Object.fromEntries(others.map((name) => [name, query[name]]));
  if (alongside && !selection.trimStart().startsWith('{')) return { ...given, selection };
  const tooLarge = callerJsonFault(selection);
  if (tooLarge !== null) throw fault(tooLarge.problem);
  let parsed: unknown;
  try {
    parsed = parseJson(selection);
  } catch {
    throw fault('is not valid JSON');
  }
  if (!isRecord(parsed)) return parsed;
  const unequal = others.find((name) => parsed[name] !== undefined && !isSame(parsed[name], given[name]));
  if (unequal !== undefined) throw fault(`has another ${unequal} than the query: send it once`);
  return { ...given, ...parsed };
}

/** A query has numbers as text, and site codes in either case. */
function isSame(a: unknown, b: unknown): boolean {
  return (
    stringifyJson(a).replaceAll('"', '').toLowerCase() === stringifyJson(b).replaceAll('"', '').toLowerCase()
  );
}

function fault(problem: string) {
  return invalidParameters([{ parameter: 'selection', problem }], 'SELECTION_INVALID');
}

/**
 * The schema of an operation's parameters. `groups` lists, for a canonical parameter, every name a caller may use for it
 * (domain: domain, domainId, country). The field's schema receives an object of the names that were sent, so that all
 * faults of a request are reported together. The output is the canonical input; parsing it again returns the same.
 * It refuses other fields.
 */
export function request<Shape extends z.ZodRawShape>(
  groups: Record<string, readonly string[]>,
  shape: Shape,
) {
  const object = exactObject(shape, { known: [...Object.values(groups).flat(), 'fields'] });
  REQUEST_GROUPS.add(object, groups);
  const group = grouper(groups);
  return z.preprocess((raw) => (isRecord(raw) ? group(raw) : raw), object);
}

/**
 * The schema of a JSON object that has no other fields. An unknown field is refused with the nearest known name.
 * @param known further names to suggest. @param problem the fault of a value that is not an object.
 */
export function exactObject<Shape extends z.ZodRawShape>(
  shape: Shape,
  { known = [], problem = 'must be a JSON object' }: { known?: readonly string[]; problem?: string } = {},
) {
  return z.strictObject(shape, {
    error: (issue) => {
      if (issue.code === 'unrecognized_keys')
        return unknownKeys(issue.keys, new Set([...Object.keys(shape), ...known]));
      return issue.input === undefined ? `is required: it ${problem}` : problem;
    },
  });
}

/** Returns the parameters of an operation that a query has. Others, such as those of the call, are ignored. */
export function parametersIn(query: Record<string, unknown>, params: z.ZodType): Record<string, unknown> {
  const names = NAMES.get(params) ?? new Set(namesOf(params));
  NAMES.set(params, names);
  return Object.fromEntries(Object.entries(query).filter(([name]) => names.has(name)));
}

/** The names under which requests may send the parameters of an operation. */
const NAMES = new WeakMap<z.ZodType, ReadonlySet<string>>();

function namesOf(params: z.ZodType): string[] {
  const parts = PARAMETER_PARTS.get(params);
  if (parts) return parts.flatMap(namesOf);
  const object = objectOf(params);
  if (!object) return [];
  return [...Object.keys(object.shape), ...Object.values(REQUEST_GROUPS.get(object) ?? {}).flat()];
}

/** Finds the object schema in a contract's `params`, which preprocessing and refinements may wrap. */
export function objectOf(schema: z.core.$ZodType): z.ZodObject | null {
  if (schema instanceof z.ZodObject) return schema;
  if (!(schema instanceof z.ZodPipe)) return null;
  const { in: before, out: after } = schema;
  return objectOf(before instanceof z.ZodTransform ? after : before);
}

/** The values that a request has under the names of a group. */
export type Group = Readonly<Record<string, unknown>>;

/** A schema over a group that returns the value, or reports one fault under the canonical name or that of the fault. */
export function grouped<T>(
  resolve: (given: Group) => T | Fault,
  documentation: GroupDocumentation,
): z.ZodType<T> {
  const { description, schema } = documentation;
  const field = z
    .unknown()
    .transform((given, context): T => {
      const value = resolve(isRecord(given) ? given : {});
      if (value instanceof Fault) {
        const { problem: message, sentAs } = value;
        context.issues.push({ code: 'custom', message, input: given, ...(sentAs && { params: { sentAs } }) });
        return z.NEVER;
      }
      return value;
    })
    .meta({ ...schema, description });
  GROUP_DOCUMENTATION.add(field, documentation);
  return field;
}

export class Fault {
  readonly problem: string;
  /** Stands after the value in the text. */
  readonly hint: string;
  /** The name of the group under which the caller has sent the value; null: the canonical name. */
  readonly sentAs: string | null;

  constructor(problem: string, hint = '', sentAs: string | null = null) {
    this.problem = problem;
    this.hint = hint;
    this.sentAs = sentAs;
  }
}

export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Returns a function that collects the values of each group. The look-up tables are built once, not for each request. */
function grouper(groups: Record<string, readonly string[]>) {
  const entries = Object.entries(groups);
  const gathered = new Set([...Object.keys(groups), ...Object.values(groups).flat()]);
  // Assigning this name would set the prototype instead of a property.
  gathered.add('__proto__');
  return (raw: Record<string, unknown>): Record<string, unknown> => {
    const result: Record<string, unknown> = {};
    for (const name of Object.keys(raw)) if (!gathered.has(name)) result[name] = raw[name];
    for (const [canonical, names] of entries) {
      const group: Record<string, unknown> = {};
      for (const name of names) if (raw[name] !== undefined) group[name] = raw[name];
      result[canonical] = group;
    }
    return result;
  };
}
