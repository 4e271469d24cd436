import { writeFileSync } from 'node:fs';
import { expect } from 'vitest';
import { openApiDocument } from '../../../src/api/openapi/document.ts';
import { ANSWER_EXAMPLES } from '../../../src/api/openapi/operations.ts';
import { jsonAnswerOf, type Operation } from '../../../src/operations/define.ts';
import { OPERATIONS } from '../../../src/operations/index.ts';
import { isRecord } from '../../../src/operations/params/request.ts';
import type { Client, Reply } from '../../support/client.ts';
import { createConformance } from '../../support/conformance.ts';
import { test } from '../../support/demo-souk-test.ts';
import { sampleOf } from '../../support/operation-samples.ts';

const FILE = 'src/api/openapi/answer-examples.json';
const MOST_CHARACTERS = 2_500;
const JSON_OPERATIONS = OPERATIONS.filter((operation) => jsonAnswerOf(operation) !== null);
const conformance = createConformance(openApiDocument());

/** Sends the sample of an operation to its first address. */
function answer(client: Client, { name, routes: [{ method, path }] }: Operation): Promise<Reply> {
  const sample = sampleOf(name);
  const address = path.replace(/:(\w+)/g, (_, parameter: string) => String(sample[parameter]));
  if (method === 'POST') return client.post(address, sample);
  const query = Object.fromEntries(Object.entries(sample).map(([field, value]) => [field, String(value)]));
  return client.get(`${address}?${new URLSearchParams(query)}`);
}

/** Returns a value with few entries of each list, and few of the records of a map. */
function small(value: unknown, isMap = false): unknown {
  if (Array.isArray(value)) return value.slice(0, value.some(isRecord) ? 1 : 3).map((one) => small(one));
  if (!isRecord(value)) return value;
  const entries = Object.entries(value).slice(0, isMap ? 1 : 24);
  return Object.fromEntries(
    entries.map(([name, one]) => [name, small(one, ['categories', 'sellers', 'figures'].includes(name))]),
  );
}

/** The names of all fields, with their place; entries of lists and maps count as one. */
function placesIn(value: unknown, place = ''): string[] {
  if (Array.isArray(value)) return value.flatMap((one) => placesIn(one, `${place}[]`));
  if (!isRecord(value)) return [];
  return Object.entries(value).flatMap(([name, one]) => [
    `${place}.${name}`,
    ...placesIn(one, `${place}.${name}`),
  ]);
}

// SOUK_WRITE_EXAMPLES=1 npm test -- test/api/openapi/answer-examples.test.ts && npm run format
test.runIf(process.env.SOUK_WRITE_EXAMPLES)('writes the examples', async ({ demoClient }) => {
  const examples: Record<string, unknown> = {};
  for (const operation of JSON_OPERATIONS) {
    const { json } = await answer(demoClient, operation);
    examples[operation.name] = small(json.data);
  }
  writeFileSync(FILE, `${JSON.stringify(examples, null, 2)}\n`);
});

test('every operation with a JSON answer has a small example, and no other', () => {
  expect(Object.keys(ANSWER_EXAMPLES).sort()).toEqual(JSON_OPERATIONS.map(({ name }) => name).sort());
  for (const [name, example] of Object.entries(ANSWER_EXAMPLES))
    expect(JSON.stringify(example).length, name).toBeLessThan(MOST_CHARACTERS);
});

test.for(JSON_OPERATIONS.map((operation) => [operation.name, operation] as const))(
  'the example of %s fits its schema, and the demo provider answers with its fields',
  async ([name, operation], { demoClient }) => {
    const reply = await answer(demoClient, operation);
    expect(reply.status).toBe(200);
    const example = { code: '0000', msg: 'success', data: ANSWER_EXAMPLES[name] };
    const [{ method, path }] = operation.routes;
    const shown = { ...reply, json: example, text: JSON.stringify(example) };
    expect(conformance.faults(method, path.replace(/:\w+/g, '33'), shown)).toEqual([]);
    const known = new Set(placesIn(reply.json.data));
    expect(placesIn(example.data).filter((place) => !known.has(place))).toEqual([]);
  },
);

test('the document shows the examples, at aliases and shared addresses too', () => {
  for (const { operation } of conformance.operations) {
    const names = [operation['x-operation'] ?? []].flat() as string[];
    const ok = operation.responses['200'];
    const examples = ok && 'content' in ok ? (ok.content?.['application/json']?.examples ?? {}) : {};
    expect(Object.keys(examples)).toEqual(names.filter((name) => ANSWER_EXAMPLES[name]));
  }
});
