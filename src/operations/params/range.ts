import { Fault, type Group, grouped, isRecord, type JsonSchema } from './request.ts';
import { fromDigits, got } from './scalars.ts';

/** Numbers from `min` to `max`, both included. At least one of them is set. */
export interface Range {
  min?: number;
  max?: number;
}

interface RangeRule {
  /** The canonical name of the parameter. */
  name: string;
  /** The bounds of both ends. */
  min: number;
  max: number;
  /** Whether the ends may have decimals. */
  decimals?: boolean;
  /** The subject of the descriptions: "Rank in the week". */
  of: string;
}

/** The names under which a request may send a range, for `request`. */
export function rangeNames<const Name extends string>(name: Name) {
  return [name, `${name}Min`, `${name}Max`] as const;
}

/** A range: `rank: {min, max}` in a body, or `rankMin` and `rankMax` in a query. */
export function range(rule: RangeRule) {
  const { name, of } = rule;
  const schema: JsonSchema = {
    type: 'object',
    properties: { min: endSchema(rule, 'Lowest value'), max: endSchema(rule, 'Highest value') },
    additionalProperties: false,
    minProperties: 1,
    examples: [{ min: exampleOf(rule) }],
  };
  const description = `${of}, inclusive`;
  return grouped<Range | undefined>((given) => resolve(given, rule), {
    description,
    required: false,
    schema,
    forms: {
      [name]: { schema, description, only: 'body' },
      [`${name}Min`]: { schema: endSchema(rule), description: `${of}: lowest, inclusive`, only: 'query' },
      [`${name}Max`]: { schema: endSchema(rule), description: `${of}: highest, inclusive`, only: 'query' },
    },
  });
}

function endSchema(rule: RangeRule, description?: string): JsonSchema {
  const { min: minimum, max: maximum, decimals = false } = rule;
  const type = decimals ? 'number' : 'integer';
  return { type, minimum, maximum, ...(description && { description }), examples: [exampleOf(rule)] };
}

function exampleOf({ min, max }: RangeRule): number {
  return Math.min(max, Math.max(min, 10));
}

function resolve(given: Group, rule: RangeRule): Range | undefined | Fault {
  const { name } = rule;
  const { [name]: both, ...single } = given;
  if (both === undefined && Object.keys(single).length === 0) return undefined;
  if (both !== undefined && !isRecord(both))
    return new Fault(
      `${got('must be an object with min and max', both)}; in a query, send ${name}Min and ${name}Max`,
    );
  const unknown = Object.keys(both ?? {}).find((key) => key !== 'min' && key !== 'max');
  if (unknown !== undefined) return new Fault(got('must have min, max or both', unknown));
  const found: Range = {};
  const sentAs: Partial<Record<keyof Range, string>> = {};
  for (const end of ['min', 'max'] as const) {
    const alone = `${name}${end === 'min' ? 'Min' : 'Max'}`;
    const inside = both?.[end];
    if (single[alone] !== undefined && inside !== undefined)
      return new Fault(`${end} was given more than once`);
    if (single[alone] !== undefined) sentAs[end] = alone;
    const value = single[alone] ?? inside;
    if (value === undefined) continue;
    const number = numberOf(value, rule);
    if (number instanceof Fault) return endFault(end, number.problem);
    found[end] = number;
  }
  if (Object.keys(found).length === 0) return new Fault('must have min, max or both, got neither');
  if (found.min !== undefined && found.max !== undefined && found.min > found.max)
    return endFault('max', `must not be below ${sentAs.min ?? 'min'} (${found.min}), got ${found.max}`);
  return found;

  /** A fault of an end, under the name that the caller has sent: `rankMax`, or `rank` for an object. */
  function endFault(end: keyof Range, problem: string): Fault {
    const own = sentAs[end];
    return own ? new Fault(problem, '', own) : new Fault(`${end} ${problem}`);
  }
}

function numberOf(value: unknown, { min, max, decimals = false }: RangeRule): number | Fault {
  const wanted = `must be ${decimals ? 'a number' : 'an integer'} from ${min} to ${max}`;
  if (Array.isArray(value)) return new Fault(`was given more than once; it ${wanted}`);
  const number = decimals ? fromDecimal(value) : fromDigits(value);
  const fits =
    typeof number === 'number' &&
    (decimals || Number.isSafeInteger(number)) &&
    number >= min &&
    number <= max;
  // -0 is 0: both are the same request.
  return fits ? number + 0 : new Fault(got(wanted, value));
}

function fromDecimal(value: unknown): unknown {
  return typeof value === 'string' && /^\s*[+-]?\d{1,16}(?:\.\d{1,16})?\s*$/.test(value)
    ? Number(value)
    : value;
}
