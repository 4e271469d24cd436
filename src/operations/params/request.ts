import { z } from 'zod';
import { unknownKeys } from '../faults.ts';
import { GROUP_DOCUMENTATION, type GroupDocumentation, REQUEST_GROUPS } from './documentation.ts';

/**
 * The schema of an operation's parameters. `groups` lists, for a canonical parameter, every name a caller may use for it
 * (domain: domain, domainId, country). The field's schema receives an object of the names that were sent, so that all
 * faults of a request are reported at once. The output is the canonical input; parsing it again returns the same.
 * @param strict refuses fields that are neither in the shape nor in a group; otherwise they are ignored.
 */
export function request<Shape extends z.ZodRawShape>(
  groups: Record<string, readonly string[]>,
  shape: Shape,
  { strict = false } = {},
) {
  const object = (strict ? z.strictObject : z.object)(shape, {
    error: (issue) =>
      issue.code === 'unrecognized_keys'
        ? unknownKeys(issue.keys, [...Object.keys(shape), 'fields'])
        : 'must be a JSON object',
  });
  REQUEST_GROUPS.add(object, groups);
  const group = grouper(groups);
  return z.preprocess((raw) => (isRecord(raw) ? group(raw) : raw), object);
}

/** The values that a request has under the names of a group. */
export type Group = Readonly<Record<string, unknown>>;

/** A schema over a group that returns the value, or reports one fault under the canonical name. */
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
        context.issues.push({ code: 'custom', message: value.problem, input: given });
        return z.NEVER;
      }
      return value;
    })
    .meta({ ...schema, description }) as unknown as z.ZodType<T>;
  GROUP_DOCUMENTATION.add(field, documentation);
  return field;
}

export class Fault {
  readonly problem: string;
  /** Stands after the value in the text. */
  readonly hint: string;

  constructor(problem: string, hint = '') {
    this.problem = problem;
    this.hint = hint;
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
