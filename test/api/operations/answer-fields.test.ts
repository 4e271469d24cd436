import { expect } from 'vitest';
import { fieldProblem } from '../../../src/operations/answer-fields.ts';
import { jsonAnswerOf, type Operation, type Route } from '../../../src/operations/define.ts';
import { OPERATIONS } from '../../../src/operations/index.ts';
import { isRecord } from '../../../src/operations/params/request.ts';
import type { Client, Reply } from '../../support/client.ts';
import { test as base } from '../../support/demo-souk-test.ts';
import { type Agent, openAgent } from '../../support/mcp-client.ts';
import { sampleOf } from '../../support/operation-samples.ts';

/**
 * A field of each operation with a JSON answer that its sample has, and a misspelt form of it. An operation without an
 * entry fails.
 */
const FIELDS: Record<string, [known: string, misspelt: string]> = {
  'account.quota': ['serverTime', 'serverTiem'],
  'market.product': ['title', 'titel'],
  'market.variations': ['title', 'titel'],
  'market.productfinder': ['asinList', 'asinsList'],
  'market.productsearch': ['brand', 'brnad'],
  'market.categorysearch': ['name', 'nmae'],
  'market.category': ['productCount', 'productCuont'],
  'market.bestseller': ['bestSellersList', 'bestSellerList'],
  'market.seller': ['currentRating', 'curentRating'],
  'market.topseller': ['sellerIdList', 'sellerIdsList'],
  'market.deal': ['deltaPercent', 'deltaPrecent'],
  'market.lightningdeal': ['dealPrice', 'dealPrize'],
  'trends.interest-over-time': ['formattedTime', 'formatedTime'],
  'trends.interest-by-region': ['geoName', 'geoNames'],
  'trends.related-queries': ['keyword', 'keywrod'],
  'trends.related-topics': ['available', 'availabel'],
  'trends.daily-trends': ['query', 'qeury'],
  'trends.real-time-trends': ['searchVolume', 'searchVolumn'],
  'aba.countries': ['available_dates', 'availableDates'],
  'aba.reportdates': ['dates', 'datse'],
  'aba.rank': ['rankChange', 'rankChanges'],
  'research.keyword': ['concentration', 'concentratoin'],
  'research.product': ['monthlySold', 'monthlySodl'],
  'research.compare': ['series', 'sereis'],
  'research.screen': ['conversionShare', 'conversionShares'],
  'aba.search': ['reportDate', 'reportDat'],
  'aba.word': ['current', 'curent'],
  'aba.wordhistory': ['clickShareSum', 'clickShareSums'],
  'aba.wordgoods': ['position', 'postion'],
  'aba.export': ['reportDate', 'reportDates'],
  'aba.asinreverse': ['truncated', 'truncatd'],
  'market.charturl': ['url', 'urls'],
  'retail.imageurl': ['image', 'imgae'],
};

const test = base.extend(
  'agent',
  { scope: 'file' },
  async ({ demoClient }, { onCleanup }): Promise<Agent> => {
    const agent = await openAgent(demoClient, {
      toolsets: 'products,categories,sellers,aba,trends,deals,visuals,research',
    });
    onCleanup(() => agent.client.close());
    return agent;
  },
);

type Sent = Record<string, unknown>;
type Place = 'the query' | 'the other parameters' | 'both';

/** Sends a sample to an address with fields in one of two places. */
function send(
  client: Client,
  { method, path, jsonParameter, type }: Route,
  sample: Sent,
  fields: string | null,
  place: Place,
): Promise<Reply> {
  const address = path.replace(/:(\w+)/g, (_, name: string) => String(sample[name]));
  const own = place === 'the query' ? sample : { ...sample, fields };
  const query = new URLSearchParams(type ? { type } : {});
  if (fields !== null && place !== 'the other parameters')
    query.set('fields', place === 'both' ? `${fields},other` : fields);
  if (method === 'POST') return client.post(`${address}?${query}`, own);
  if (jsonParameter) query.set(jsonParameter, JSON.stringify(own));
  else for (const [name, value] of Object.entries(own)) query.set(name, String(value));
  return client.get(`${address}?${query}`);
}

const JSON_OPERATIONS = OPERATIONS.filter((operation) => jsonAnswerOf(operation) !== null);

/** Every way to send fields: each address, in the query or alongside the other parameters. */
const WAYS = JSON_OPERATIONS.flatMap((operation) =>
  operation.routes.flatMap((route) => {
    const places: Place[] = ['the query', 'the other parameters'];
    const isQuery = route.method === 'GET' && !route.jsonParameter;
    return (isQuery ? places.slice(0, 1) : places).map(
      (place) => [`${route.method} ${route.path} ${operation.name}`, place, route, operation] as const,
    );
  }),
);

/** Returns the rows of a table as records, which only tools return; other values unchanged. */
function listOf(found: unknown): unknown {
  const { columns, rows } = isRecord(found) ? (found as { columns?: string[]; rows?: unknown[][] }) : {};
  if (!columns || !rows) return found;
  return rows.map((row) => Object.fromEntries(columns.map((name, i) => [name, row[i]])));
}

/** Returns the records of an answer, or the answer itself. */
function recordsOf(operation: Operation, data: Sent): Sent[] {
  const path = jsonAnswerOf(operation)?.records?.path.split('.') ?? [];
  const found = listOf(path.reduce<unknown>((value, name) => (value as Sent)[name], data));
  // The outline of a long list ends with a text.
  const records = (path.length === 0 ? [data] : Object.values(found as object)).filter(isRecord);
  expect(records.length).toBeGreaterThan(0);
  return records;
}

/** Expects that each record has the field and otherwise only what identifies it, or says whether it is cached. */
function expectOnly(operation: Operation, data: Sent, field: string): void {
  const [name = ''] = field.split('.');
  const kept = new Set([name, 'asin', 'codes', ...(jsonAnswerOf(operation)?.records ? [] : KEPT)]);
  for (const record of recordsOf(operation, data)) {
    expect(record).toHaveProperty(name);
    expect(Object.keys(record).filter((other) => !kept.has(other))).toEqual([]);
  }
}

/** What every answer has in addition to its fields. */
const KEPT = ['fromCache', 'links', '_call'];

function expectRefused(json: Reply['json'], misspelt: string, known: string): void {
  const suggestion = new RegExp(`"${misspelt}"; did you mean (?:\\w+ or )?${known}\\b`);
  expect(json.metadata?.errors).toEqual([
    { parameter: 'fields', problem: expect.stringMatching(suggestion) },
  ]);
}

test('every operation with a JSON answer has a field and a misspelt one', () => {
  expect(Object.keys(FIELDS).sort()).toEqual(JSON_OPERATIONS.map(({ name }) => name).sort());
});

test.for(WAYS)(
  '%s applies fields in %s, and refuses an unknown one with the nearest name',
  async ([_, place, route, operation], { demoClient }) => {
    const [known = '', misspelt = ''] = FIELDS[operation.name] ?? [];
    const sample = sampleOf(operation.name);
    const whole = await send(demoClient, route, sample, known, place);
    expect({ status: whole.status, code: whole.json.code }).toEqual({ status: 200, code: '0000' });
    expectOnly(operation, whole.json.data, known);
    const refused = await send(demoClient, route, sample, misspelt, place);
    expect(refused.status).toBe(400);
    expectRefused(refused.json, misspelt, known);
  },
);

test.for(WAYS.filter(([, place]) => place === 'the other parameters'))(
  '%s refuses fields in the query together with fields in %s',
  async ([_, _place, route, operation], { demoClient }) => {
    const [known = ''] = FIELDS[operation.name] ?? [];
    const { status, json } = await send(demoClient, route, sampleOf(operation.name), known, 'both');
    expect([status, json.metadata?.errors]).toMatchObject([
      400,
      [{ parameter: 'fields', problem: expect.stringContaining('sent once') }],
    ]);
  },
);

test.for(JSON_OPERATIONS.map((operation) => [operation.tool, operation] as const))(
  'the tool %s lists fields, applies a known one and refuses an unknown one with the nearest name',
  async ([tool, operation], { agent }) => {
    const { tools } = await agent.client.listTools();
    const listed = tools.find(({ name }) => name === tool);
    expect(listed?.inputSchema.properties).toHaveProperty('fields');
    const [known = '', misspelt = ''] = FIELDS[operation.name] ?? [];
    const sample = sampleOf(operation.name);
    const { data, isError } = await agent.call(tool, { ...sample, fields: known });
    expect(isError).toBe(false);
    expectOnly(operation, data.outline ?? data, known);
    const refused = await agent.call(tool, { ...sample, fields: misspelt });
    expect(refused.data.error).toMatchObject({ status: 400, code: 'VALIDATION_FAILED' });
    expectRefused(refused.data.error, misspelt, known);
  },
);

test('every field in the answers of the demo provider can be selected', async ({ demoClient }) => {
  for (const operation of JSON_OPERATIONS) {
    const answer = jsonAnswerOf(operation);
    const [route] = operation.routes;
    if (!answer) continue;
    const sample = sampleOf(operation.name);
    const { json } = await send(demoClient, route, sample, null, 'the query');
    const names = recordsOf(operation, json.data).flatMap((record) => Object.keys(record));
    const ownNames = [...new Set(names)].filter((name) => !KEPT.includes(name));
    expect(ownNames.filter((name) => fieldProblem(answer, name) !== null)).toEqual([]);
  }
});

test('refuses fields for a picture', async ({ demoClient }) => {
  const { status, json } = await demoClient.get(
    '/api/market/graphimage?domain=1&asin=B0C3CDEF01&fields=asin',
  );
  expect([status, json.metadata?.errors]).toMatchObject([400, [{ parameter: 'fields' }]]);
});
