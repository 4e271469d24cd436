import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import {
  type DocumentedParameter,
  exampleOf,
  inputSchema,
  parametersOf,
} from '../../../src/api/openapi/parameters.ts';
import { knownFields } from '../../../src/operations/answer-fields.ts';
import { jsonAnswerOf } from '../../../src/operations/define.ts';
import { faultsIn } from '../../../src/operations/faults.ts';
import { OPERATIONS, queuedOperation } from '../../../src/operations/index.ts';
import { productFinder } from '../../../src/operations/market/product-finder.ts';
import { cursorOf } from '../../../src/operations/research/screen-cursor.ts';
import { fingerprint } from '../../../src/platform/fingerprint.ts';
import { boundsOf, valuesBeside, valuesOf } from '../../support/schema-values.ts';
import { words } from '../../support/words.ts';

/** As JSON integers. */
const categoryIds = fc.bigInt({ min: 0n, max: 2n ** 63n - 1n });

/** Fields that records have only with `decode=1`. */
const DECODED = ['history', 'statistics'];

/** The known fields of each answer. */
function ofFields(): Record<string, fc.Arbitrary<unknown>> {
  const named = OPERATIONS.flatMap((operation) => {
    const answer = jsonAnswerOf(operation);
    if (!answer) return [];
    const isDecoded = (name: string) => answer.records?.needs !== undefined && DECODED.includes(name);
    const names = knownFields(answer)
      .filter((name) => !isDecoded(name))
      .slice(0, 100);
    return [[`${operation.name} fields`, fc.subarray(names, { minLength: 1 })] as const];
  });
  return Object.fromEntries(named);
}

/** Filters without a pasted query, whose text is that of another program. */
function filterValues(): fc.Arbitrary<unknown> {
  const schema = parametersOf(productFinder.params).find(({ name }) => name === 'selection')?.schema ?? {};
  const { selection: _, ...properties } = schema.properties ?? {};
  // A minimum is not above its maximum: only one of the two is sent, alongside those of the example.
  const example = exampleOf(schema) as object;
  const otherBound = (name: string) =>
    name.endsWith('_lte') ? name.replace(/_lte$/, '_gte') : name.replace(/_gte$/, '_lte');
  return valuesOf({ ...schema, properties }).map((value) => {
    const names = Object.keys(value as object);
    const kept = names.filter(
      (name, i) => ![...names.slice(0, i), ...Object.keys(example)].includes(otherBound(name)),
    );
    return Object.fromEntries(kept.map((name) => [name, (value as Record<string, unknown>)[name]]));
  });
}

/** Good values of parameters whose rules no JSON Schema can express, by operation and name. */
const BEYOND_SCHEMAS: Record<string, fc.Arbitrary<unknown>> = {
  // The earlier time comes first.
  'market.productsearch stats': fc.constantFrom(
    '30',
    7,
    '2026-01-01,2026-03-31',
    '1767225600000,1774915200000',
  ),
  'market.product dateRange': fc
    .tuple(fc.nat(), fc.nat())
    .map(([a, b]) => ({ start: Math.min(a, b), end: Math.max(a, b) })),
  // The check digit is valid.
  'market.product codes': fc.subarray(
    ['4006381333931', '036000291452', '73513537', '0-306-40615-2', '080442957X'],
    { minLength: 1 },
  ),
  'market.productfinder selection': filterValues(),
  ...ofFields(),
  ...ofTrends('interest-over-time'),
  ...ofTrends('interest-by-region'),
  ...ofTrends('related-queries'),
  ...ofTrends('related-topics'),
  ...ofTrends('daily-trends'),
  ...ofTrends('real-time-trends'),
  'market.category category': categoryIds.map(String),
  'market.bestseller category': categoryIds.map(String),
  'market.deal includeCategories': fc.array(categoryIds, { minLength: 1, maxLength: 5 }),
  'market.deal excludeCategories': fc.array(categoryIds, { minLength: 1, maxLength: 5 }),
  // min is not above max.
  ...ofDeals(),
  // An id implies its site, which must be that of the example.
  'aba.wordgoods wordId': fc.integer({ min: 1, max: 1_000_000 }).map((place) => place * 16 + 1),
  'aba.wordgoods country': fc.constantFrom('us', 'US'),
  // Texts have a letter or a digit, at most ten words in all.
  'research.screen words': termLists(),
  'research.screen notWords': termLists(),
  // min is not above max.
  'research.screen rank': ranges(fc.integer({ min: 1, max: 2_000_000_000 })),
  'research.screen change4': ranges(fc.integer({ min: -2_000_000_000, max: 2_000_000_000 })),
  'research.screen change12': ranges(fc.integer({ min: -2_000_000_000, max: 2_000_000_000 })),
  'research.screen clickShare': ranges(fc.double({ min: 0, max: 100, noNaN: true })),
  'research.screen conversionShare': ranges(fc.integer({ min: 0, max: 100 })),
  // Cursors are written by answers.
  'research.screen cursor': fc
    .tuple(fc.integer({ min: 1, max: 1_000_000 }), fc.integer({ min: 1, max: 1_000_000 }))
    .map(([value, place]) =>
      cursorOf({ week: '2026-04-11', sort: 'rank', value, rank: value, wordId: place * 16 + 1 }),
    ),
  // Metropolitan areas are for the United States only.
  'trends.interest-by-region resolution': fc.constantFrom('COUNTRY', 'REGION', 'CITY'),
};

/** Up to five lists of two words. */
function termLists(): fc.Arbitrary<unknown> {
  return fc.array(fc.stringMatching(/^[a-z]{1,20}( [a-z0-9]{1,20})?$/), { minLength: 1, maxLength: 5 });
}

function ofDeals(): Record<string, fc.Arbitrary<unknown>> {
  const pair = fc
    .tuple(fc.maxSafeInteger(), fc.maxSafeInteger())
    .map(([a, b]) => [Math.min(a, b), Math.max(a, b)]);
  const names = words('deltaRange deltaPercentRange deltaLastRange salesRankRange currentRange');
  return Object.fromEntries(names.map((name) => [`market.deal ${name}`, pair]));
}

/** The lowest value, the highest, or both. */
function ranges(ends: fc.Arbitrary<number>): fc.Arbitrary<unknown> {
  return fc.oneof(
    ends.map((min) => ({ min })),
    ends.map((max) => ({ max })),
    fc.tuple(ends, ends).map(([a, b]) => ({ min: Math.min(a, b), max: Math.max(a, b) })),
  );
}

/** Real regions and languages, and keywords with visible characters. */
function ofTrends(name: string): Record<string, fc.Arbitrary<unknown>> {
  return {
    [`trends.${name} geo`]: fc.constantFrom('US', 'us-ca', 'DE', 'GB', 'US-CA-807'),
    [`trends.${name} hl`]: fc.constantFrom('en-US', 'de', 'zh-CN', 'ja', 'es-419'),
    [`trends.${name} keyword`]: fc.array(fc.stringMatching(/^[a-z ]{1,20}[a-z]$/), {
      minLength: 1,
      maxLength: 5,
    }),
  };
}

interface Case {
  name: string;
  params: z.ZodType;
  parameters: readonly DocumentedParameter[];
  /** The least that is accepted. */
  base: Record<string, unknown>;
}

const CASES: Case[] = OPERATIONS.map(({ name, params }) => {
  const parameters = parametersOf(params);
  const needed = parameters.filter(({ required }) => required);
  const base = needed.map(
    (parameter): Record<string, unknown> =>
      parameter.spread
        ? (exampleOf(parameter.schema) as Record<string, unknown>)
        : { [parameter.name]: exampleOf(parameter.schema) },
  );
  return { name, params, parameters, base: Object.assign({}, ...base) };
});

const ROWS = CASES.flatMap((one) =>
  one.parameters.map((parameter) => ({
    ...one,
    base: baseOf(parameter, one.parameters, one.base),
    parameter,
    title: `${one.name} ${parameter.name}`,
  })),
);

/** Returns the base without the parameter that a request has instead of this one. */
function baseOf(
  { name }: DocumentedParameter,
  parameters: readonly DocumentedParameter[],
  base: Record<string, unknown>,
): Record<string, unknown> {
  const instead = parameters.filter(({ unless }) => unless === name).map((one) => one.name);
  return Object.fromEntries(Object.entries(base).filter(([sent]) => !instead.includes(sent)));
}

/** Requests with any of the parameters together. Some are refused: a request has one of two parameters, for example. */
function requestsOf({ name: operation, parameters, base }: Case): fc.Arbitrary<object> {
  const values = parameters.map(({ name, schema }) => [
    name,
    BEYOND_SCHEMAS[`${operation} ${name}`] ?? valuesOf(schema),
  ]);
  return fc
    .record(Object.fromEntries(values) as Record<string, fc.Arbitrary<unknown>>, { requiredKeys: [] })
    .map((chosen) => {
      const parts = parameters
        .filter(({ name }) => name in chosen)
        .map(({ name, spread }) => (spread ? (chosen[name] as object) : { [name]: chosen[name] }));
      return Object.assign({}, base, ...parts) as object;
    });
}

describe.each(CASES)('$name', (one) => {
  const { params, base, parameters } = one;

  test('reads a request to the same canonical input in any order, and this input to itself, even after JSON', () => {
    fc.assert(
      fc.property(requestsOf(one), (request) => {
        const { success, data: once } = params.safeParse(request);
        if (!success) return;
        expect(params.parse(once)).toEqual(once);
        expect(params.parse(JSON.parse(JSON.stringify(once)))).toEqual(once);
        const reversed = Object.fromEntries(Object.entries(request).reverse());
        expect(fingerprint(params.parse(reversed))).toBe(fingerprint(once));
      }),
      { numRuns: 100 },
    );
  });

  test('refuses arbitrary input with readable messages', () => {
    const forms = parameters.flatMap((parameter) => parameter.forms);
    const names = [...forms.map(({ name }) => name), 'unheardOf'];
    const nonsense = fc.dictionary(fc.constantFrom(...names), fc.jsonValue());
    fc.assert(
      fc.property(nonsense, (request) => {
        const { error } = params.safeParse(request);
        for (const { problem } of error ? faultsIn(error) : [])
          expect(problem).not.toMatch(/Invalid|expected|undefined|\[object/);
      }),
      { numRuns: 100 },
    );
  });

  test('accepts its examples', () => {
    expect(problems(params, base)).toEqual([]);
    for (const parameter of parameters) {
      const { name, schema, spread } = parameter;
      for (const example of schema.examples ?? []) {
        const sent = spread ? (example as object) : { [name]: example };
        expect(problems(params, { ...baseOf(parameter, parameters, base), ...sent })).toEqual([]);
      }
    }
  });

  test('requires exactly the parameters that are marked as required', () => {
    for (const { name, required, spread, schema } of parameters) {
      const spreadNames = spread ? Object.keys(exampleOf(schema) as object) : [name];
      const without = Object.fromEntries(
        Object.entries(base).filter(([sent]) => !spreadNames.includes(sent)),
      );
      expect({ name, isRefused: problems(params, without).length > 0 }).toEqual({
        name,
        isRefused: required,
      });
    }
  });

  test('describes every parameter', () => {
    for (const { name, forms } of parameters) {
      for (const form of forms) expect(form.description, `${name} as ${form.name}`).toMatch(/^\S.{3,}/);
    }
  });
});

describe.each(ROWS)('$title', ({ title, params, parameter, base }) => {
  const { name, schema, spread, forms } = parameter;
  const values = BEYOND_SCHEMAS[title] ?? valuesOf(schema);

  test('accepts every value that fits its schema, in JSON and as text', () => {
    fc.assert(
      fc.property(values, (value) => {
        expect(problems(params, { ...base, ...sent(value) })).toEqual([]);
        if (isWritable(value)) expect(problems(params, { ...base, [name]: written(value) })).toEqual([]);
      }),
      { numRuns: 50 },
    );
    for (const bound of boundsOf(schema)) expect(problems(params, { ...base, [name]: bound })).toEqual([]);
  });

  test('refuses values just outside its schema', () => {
    for (const value of valuesBeside(schema)) {
      const refused = problems(params, { ...base, ...(spread ? { unheardOf: value } : { [name]: value }) });
      expect({ value: JSON.stringify(value).slice(0, 200), isRefused: refused.length > 0 }).toMatchObject({
        isRefused: true,
      });
    }
  });

  test('accepts its other names', () => {
    const { [name]: _, ...others } = base;
    const single = forms.filter((form) => !form.only && form.name !== name);
    for (const form of single) {
      fc.assert(
        fc.property(BEYOND_SCHEMAS[title] ?? valuesOf(form.schema), (value) => {
          expect(problems(params, { ...others, [form.name]: value })).toEqual([]);
        }),
        { numRuns: 20 },
      );
    }
    const inQuery = forms.filter(({ only }) => only === 'query');
    if (inQuery.length === 0) return;
    const together = Object.fromEntries(inQuery.map((form) => [form.name, String(exampleOf(form.schema))]));
    expect(problems(params, { ...base, ...together })).toEqual([]);
  });

  function sent(value: unknown): object {
    return spread ? (value as object) : { [name]: value };
  }
});

test('a selection accepts exactly the fields that are described', () => {
  const filters = parametersOf(productFinder.params).find(({ spread }) => spread);
  const patterns = Object.keys(filters?.schema.patternProperties ?? {}).map((pattern) => new RegExp(pattern));
  const isDescribed = (field: string) => patterns.some((pattern) => pattern.test(field));
  for (const field of 'current_SALES_gte srAvg211_lte isLowest_NEW brand title unitValue_gte'.split(' ')) {
    expect(isDescribed(field), field).toBe(true);
  }
  for (const field of ['current_SALES', 'current_MOON_gte', 'isLowest', 'srAvg212_lte', 'xbrand', 'brandx']) {
    expect(isDescribed(field), field).toBe(false);
    expect(problems(productFinder.params, { domain: 1, [field]: 1 })).not.toEqual([]);
  }
});

test('the schema for tools has one name for each parameter, and closes the object', () => {
  const schema = inputSchema(queuedOperation('market.product')?.params ?? z.never());
  expect(Object.keys(schema.properties ?? {})).toEqual(
    words(`
    domain asins codes stats history update offers rating buybox stock days dateRange detailLevel
    decode fields
  `),
  );
  expect(schema).toMatchObject({ type: 'object', required: ['domain'], additionalProperties: false });
  expect(schema.properties?.asins).toMatchObject({ items: { pattern: '^[A-Za-z0-9]{10}$' } });
});

function problems(params: z.ZodType, sent: unknown): string[] {
  const { error } = params.safeParse(sent);
  return (error?.issues ?? []).map(({ path, message }) => `${path.join('.')}: ${message}`);
}

/** Whether a query can carry it. */
function isWritable(value: unknown): boolean {
  if (Array.isArray(value))
    return value.length > 0 && value.every((item) => typeof item === 'string' && !item.includes(','));
  return typeof value !== 'object';
}

function written(value: unknown): string {
  return Array.isArray(value) ? value.join(',') : String(value);
}
