import fc from 'fast-check';
import type { JsonSchema } from '../../src/operations/params/request.ts';

/** Values that fit a JSON Schema, of the kind our documentation uses. Lists and texts are kept short. */
export function valuesOf(schema: JsonSchema): fc.Arbitrary<unknown> {
  const { type, anyOf, enum: values, properties = {}, patternProperties, required = [] } = schema;
  if (schema.const !== undefined) return fc.constant(schema.const);
  if (values) return fc.constantFrom(...values);
  if (anyOf) return fc.oneof(...anyOf.map((one) => valuesOf(one as JsonSchema)));
  switch (type) {
    case 'integer':
      return integers(schema);
    case 'number':
      return numbers(schema);
    case 'boolean':
      return fc.boolean();
    case 'null':
      return fc.constant(null);
    case 'string':
      return texts(schema);
    case 'array':
      return lists(schema);
    case 'object': {
      const named = fc.record(
        Object.fromEntries(
          Object.entries(properties).map(([name, inner]) => [name, valuesOf(inner as JsonSchema)]),
        ),
        { requiredKeys: required },
      );
      const fields = Object.entries(patternProperties ?? {}).map(([pattern, inner]) =>
        fc.dictionary(fc.stringMatching(new RegExp(pattern)), valuesOf(inner as JsonSchema), {
          minKeys: 1,
          maxKeys: 2,
        }),
      );
      return fields.length === 0 ? named : fc.oneof(named, ...fields).filter(isNotEmpty);
    }
    default:
      throw new Error(`no values for ${JSON.stringify(schema)}`);
  }
}

/** Values just outside a schema. */
export function valuesBeside(schema: JsonSchema): unknown[] {
  const { type, enum: values, minimum, maximum, maxLength, minItems, maxItems } = schema;
  if (values) return [type === 'integer' ? -77 : 'no-such-word'];
  switch (type) {
    case 'integer':
      return [(minimum ?? 0) - 1, (maximum ?? 0) + 1, 'x', 1.5];
    case 'number':
      return [(minimum ?? 0) - 0.01, (maximum ?? 0) + 0.01, 'x'];
    case 'boolean':
      return ['perhaps', 2];
    case 'string':
      return ['x'.repeat((maxLength ?? 0) + 1), 'a\u0007b'];
    case 'array': {
      const { items = {}, prefixItems } = schema;
      const [item] = valuesBeside((prefixItems?.[0] ?? items) as JsonSchema).slice(-1);
      const tooMany = maxItems === undefined ? [] : [severalOf(schema, maxItems + 1)];
      return [[item], ...tooMany, ...((minItems ?? 0) > 0 ? [[]] : [])];
    }
    case 'object':
      return ['x', { start: 1 }];
    default:
      return [];
  }
}

/** The bounds of a schema. */
export function boundsOf({ type, minimum, maximum, enum: values }: JsonSchema): unknown[] {
  if ((type !== 'integer' && type !== 'number') || values) return [];
  return [minimum, maximum].filter((bound) => bound !== undefined);
}

function numbers({ minimum, maximum }: JsonSchema): fc.Arbitrary<number> {
  const bounds = {
    ...(minimum === undefined ? {} : { min: minimum }),
    ...(maximum === undefined ? {} : { max: maximum }),
  };
  return fc.double({ noNaN: true, noDefaultInfinity: true, ...bounds });
}

function integers({ minimum, maximum }: JsonSchema): fc.Arbitrary<number> {
  return fc.maxSafeInteger().map((number) => {
    const [least, most] = [minimum ?? Number.MIN_SAFE_INTEGER, maximum ?? Number.MAX_SAFE_INTEGER];
    // Covers all parts of large and small ranges.
    return number >= least && number <= most ? number : least + (Math.abs(number) % (most - least + 1));
  });
}

function texts({ pattern, format, minLength = 0, maxLength = 1000 }: JsonSchema): fc.Arbitrary<string> {
  if (format === 'date') {
    const day = fc.date({ min: new Date('1990-01-01'), max: new Date('2090-01-01'), noInvalidDate: true });
    return day.map((date) => date.toISOString().slice(0, 10));
  }
  const matching = pattern ? fc.stringMatching(new RegExp(pattern)) : fc.string();
  return matching.filter(
    // Halves of characters cannot travel in UTF-8.
    (text) => text.length >= minLength && text.length <= maxLength && !/\p{Cs}/u.test(text),
  );
}

function lists(schema: JsonSchema): fc.Arbitrary<unknown[]> {
  const { items = {}, prefixItems, minItems = 0, maxItems = 5 } = schema;
  if (prefixItems) return fc.tuple(...prefixItems.map((item) => valuesOf(item as JsonSchema)));
  return fc.array(valuesOf(items as JsonSchema), {
    minLength: minItems,
    maxLength: Math.max(minItems, Math.min(5, maxItems)),
  });
}

/** Creates a list with this number of different items. */
function severalOf({ items = {}, prefixItems }: JsonSchema, length: number): unknown[] {
  if (prefixItems) return Array.from({ length }, () => 1);
  const distinct = fc.uniqueArray(valuesOf(items as JsonSchema), {
    minLength: length,
    maxLength: length,
    selector: (item) => JSON.stringify(item).toUpperCase(),
  });
  return fc.sample(distinct, { numRuns: 1, seed: 7 })[0] ?? [];
}

function isNotEmpty(value: object): boolean {
  return Object.keys(value).length > 0;
}
