import { readFileSync } from 'node:fs';
import { encode } from 'gpt-tokenizer/encoding/o200k_base';
import { describe, expect, test } from 'vitest';
import { BATCH_ENDPOINTS } from '../../../src/api/endpoints/batches.ts';
import { BILLING_ENDPOINTS } from '../../../src/api/endpoints/billing.ts';
import { JOB_ENDPOINTS } from '../../../src/api/endpoints/jobs.ts';
import { SCHEDULE_ENDPOINTS } from '../../../src/api/endpoints/schedules.ts';
import { TRACKER_ENDPOINTS } from '../../../src/api/endpoints/trackers.ts';
import { withChart } from '../../../src/api/mcp/chart.ts';
import { listedTools, TOOLS_CALL, TOOLS_SEARCH } from '../../../src/api/mcp/tool-directory.ts';
import { isIn, TOOLS } from '../../../src/api/mcp/tools.ts';
import { OPERATIONS } from '../../../src/operations/index.ts';
import type { JsonSchema } from '../../../src/operations/params/request.ts';
import { DEFAULT_TOOLS, readToolsets, TOOLSETS } from '../../../src/operations/toolsets.ts';

const guide = readFileSync(new URL('../../../docs/guides/tools-for-agents.md', import.meta.url), 'utf8');
const tokensOf = (value: unknown) => encode(JSON.stringify(value)).length;

/** The names that the specification requires. */
const SPECIFIED =
  `market_get_quota market_get_product market_get_variations market_get_seller web_trends_interest_over_time
  web_trends_interest_by_region web_trends_related_queries web_trends_related_topics web_trends_daily_trends
  web_trends_real_time_trends aba_get_countries aba_get_rank_list aba_search_keywords aba_get_word_detail
  aba_reverse_asin`.split(/\s+/);

const ALL = [...TOOLS.values()];

test('every operation and every endpoint of jobs, batches, schedules, trackers and billing is a tool, except quotes, changes and the event stream', () => {
  const operations = OPERATIONS.map(({ tool }) => tool);
  const endpoints = [
    JOB_ENDPOINTS,
    BATCH_ENDPOINTS,
    SCHEDULE_ENDPOINTS,
    TRACKER_ENDPOINTS,
    BILLING_ENDPOINTS,
  ].flat();
  const without = endpoints.filter(({ tool }) => !tool).map(({ path }) => path);
  expect(without).toEqual([
    '/api/jobs/{id}/events',
    '/api/batches/quote',
    '/api/batches/{id}/changes',
    '/api/schedules/quote',
    '/api/trackers/quote',
    '/api/trackers/values',
  ]);
  const named = [...operations, ...endpoints.flatMap(({ tool }) => tool ?? [])];
  expect([...TOOLS.keys()].sort()).toEqual(named.sort());
  expect(new Set(named).size).toBe(named.length);
});

test('no tool has the form of a file', () => {
  const named = ALL.filter(({ listed }) => Object.hasOwn(listed.inputSchema.properties ?? {}, 'format'));
  expect(named.map(({ listed }) => listed.name)).toEqual([]);
});

test('every tool of the specification exists', () => {
  expect(SPECIFIED.filter((name) => !TOOLS.has(name))).toEqual([]);
});

describe('the default list', () => {
  const list = listedTools(['default'], null).map(withChart);
  const tokens = tokensOf(list);

  test('takes at most 4,000 tokens, and leaves 300 of them for each tool that does not exist yet', () => {
    const missing = DEFAULT_TOOLS.filter((name) => !TOOLS.has(name));
    expect(tokens).toBeLessThanOrEqual(4_000 - 300 * missing.length);
    expect(tokens).toBeGreaterThan(2_000);
  });

  test('has the tools that agents ask for most, then the two that reach all others', () => {
    const existing = DEFAULT_TOOLS.filter((name) => TOOLS.has(name));
    expect(existing.length).toBeGreaterThanOrEqual(8);
    expect(list.map(({ name }) => name)).toEqual([...existing, 'tools_search', 'tools_call']);
  });

  test('can be combined with toolsets', () => {
    const names = listedTools(['default', 'batches'], null).map(({ name }) => name);
    expect(names).toEqual(
      expect.arrayContaining(['market_get_product', 'batches_create', 'jobs_get', 'tools_call']),
    );
    expect(new Set(names).size).toBe(names.length);
  });

  test('has the size that the guide states, rounded up to hundreds', () => {
    const all = tokensOf(listedTools(TOOLSETS, null).map(withChart));
    const inWords = (count: number) => (Math.ceil(count / 100) * 100).toLocaleString('en');
    expect(guide).toContain(`about ${inWords(tokens)} tokens`);
    expect(guide).toContain(`about ${inWords(all)} tokens`);
  });

  test('the guide names every toolset', () => {
    expect(TOOLSETS.filter((name) => !guide.includes(`\`${name}\``))).toEqual([]);
  });
});

const LISTED = [...ALL.map(({ listed }) => listed), TOOLS_SEARCH, TOOLS_CALL];

describe.each(LISTED.map((listed) => [listed.name, listed] as const))('%s', (_name, listed) => {
  const { name, inputSchema, annotations, description } = listed;

  test('has an object schema without references', () => {
    expect(inputSchema.type).toBe('object');
    expect(JSON.stringify(listed)).not.toContain('$ref');
    for (const name of inputSchema.required ?? []) expect(inputSchema.properties).toHaveProperty(name);
  });

  test('has one type for each property, so that strict listings have no warnings', () => {
    expect(untyped(inputSchema, 'input')).toEqual([]);
  });

  test('describes every argument in a few words', () => {
    const texts = Object.entries(inputSchema.properties ?? {}).map(
      ([argument, schema]) => [argument, (schema as JsonSchema).description ?? ''] as const,
    );
    expect(texts.filter(([, text]) => text === '' || tokensOf(text) > 40)).toEqual([]);
  });

  test('accepts maxUnits and dryRun', () => {
    expect(inputSchema.properties).toMatchObject({
      maxUnits: { type: 'integer' },
      dryRun: { type: 'boolean' },
    });
  });

  test('states its price and its effects', () => {
    expect(description).toMatch(/Units: \S/);
    expect(annotations).toMatchObject({
      title: expect.stringMatching(/^[A-Z][a-z]/),
      readOnlyHint: expect.any(Boolean),
      openWorldHint: expect.any(Boolean),
      destructiveHint: name === 'tools_call' || /_(?:cancel|delete)$/.test(name),
    });
    expect(annotations.idempotentHint).toEqual(annotations.readOnlyHint ? undefined : expect.any(Boolean));
  });
});

describe('toolsets', () => {
  test.each([
    ['market', ['products', 'categories', 'sellers', 'deals', 'visuals']],
    [' aba , trends', ['aba', 'trends']],
    ['default', ['default']],
    ['default,batches', ['default', 'batches']],
    ['all', TOOLSETS],
  ])('%s', (text, expected) => {
    expect(readToolsets(text)).toEqual(expected);
  });

  test.each(['', ',', 'market,magic', 'constructor', '__proto__'])('"%s" is no list of toolsets', (text) => {
    expect(readToolsets(text)).toBeNull();
  });

  test('the tools of quota and jobs are in every toolset', () => {
    const shown = ALL.filter((tool) => isIn(tool, ['billing']));
    const always = shown.filter(({ toolset }) => toolset !== 'billing').map(({ listed }) => listed.name);
    expect(always.sort()).toEqual(
      'jobs_cancel jobs_get jobs_get_result jobs_list market_get_quota'.split(' '),
    );
  });
});

/** Returns the places within a schema that have no type, several types, or lists without entries. */
function untyped(schema: JsonSchema, place: string): string[] {
  const { type, anyOf, items, properties = {} } = schema;
  const choices = (anyOf ?? []) as JsonSchema[];
  const isStated = typeof type === 'string' || choices.length > 0 || schema.enum !== undefined;
  const isOpenList = type === 'array' && place.startsWith('input') && items === undefined;
  return [
    ...(isStated && !isOpenList ? [] : [place]),
    ...Object.entries(properties).flatMap(([name, one]) => untyped(one as JsonSchema, `${place}.${name}`)),
    ...(items ? untyped(items as JsonSchema, `${place}[]`) : []),
    ...choices.flatMap((one) => untyped(one, `${place}|`)),
  ];
}
