import { parse as parseQuery } from 'node:querystring';
import type { FastifyRequest } from 'fastify';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { z } from 'zod';
import { ENDPOINTS } from '../../src/api/endpoints/index.ts';
import { parseAs, parseInput } from '../../src/api/operations/call-options.ts';
import { BODY_LIMIT_BYTES } from '../../src/api/plugins/body-parsing.ts';
import { readBatch, readItems } from '../../src/batches/read-batch.ts';
import { DOCUMENT_ITEM_LIMITS, readSchedule } from '../../src/batches/schedules/read-schedule.ts';
import { BatchFaults } from '../../src/batches/upload-text.ts';
import type { RawRequest, Route } from '../../src/operations/define.ts';
import { OPERATIONS } from '../../src/operations/index.ts';
import { callerJsonFault } from '../../src/platform/caller-json.ts';
import { SoukError } from '../../src/platform/errors.ts';
import { parseJson, stringifyJson } from '../../src/platform/json.ts';
import { asinsFrom } from '../support/batches.ts';
import { expectLinearWork, expectLinearWorkOfEach, type TaskOf } from '../support/linear-work.ts';
import { OPERATION_SAMPLES } from '../support/operation-samples.ts';
import { openWorkMeter, type Work, type WorkMeter } from '../support/work.ts';

// One request must not stop a process: the work of reading an input is linear in its size.

const NOW = Date.UTC(2026, 2, 10);

let meter: WorkMeter;
beforeAll(async () => {
  meter = await openWorkMeter();
});
afterAll(() => meter.close());

const expectLinear = (taskOf: TaskOf) => expectLinearWork(meter, taskOf);

/** Runs a function and ignores its refusal. */
function refusable(task: () => unknown): void {
  try {
    task();
  } catch (error) {
    if (!(error instanceof SoukError)) throw error;
  }
}

const repeated = (length: number, make: (i: number) => string) =>
  Array.from({ length }, (_, i) => make(i)).join(',');

/** Writes a JSON object that grows with the size, within every limit of the service at size 8. The fields of a good request come first. */
type Shape = (names: readonly string[], good: string, size: number) => string;

const SHAPES: Record<string, Shape> = {
  'many fields': (_, good, size) => `{${good}${repeated(110 * size, (i) => `"current_${i}":${i}`)}}`,
  'fields that repeat': (names, good, size) =>
    `{${good}${repeated(110 * size, (i) => `"${names[i % names.length]}":"x${i}"`)}}`,
  nesting: eachField((size) => `${'['.repeat(2 * size)}1${']'.repeat(2 * size)}`),
  'long lists': eachField(
    (size, fields) => `[${repeated(Math.ceil((500 * size) / fields), (i) => `"x${i}"`)}]`,
  ),
  'long texts': textsOf('a'),
  'texts of commas': textsOf('b,'),
  'texts of digits': textsOf('9'),
  'texts of spaces': textsOf(' '),
  'odd Unicode': textsOf('\u0130\u0301'),
  'halves of characters': textsOf('\\ud800'),
  'numbers of many digits': eachField((size, fields) => '9'.repeat(Math.floor((5_000 * size) / fields))),
};

/** A shape with the same value in each of the fields that a request may have. */
function eachField(value: (size: number, fields: number) => string): Shape {
  return (names, good, size) => {
    const written = value(size, names.length);
    return `{${good}${names.map((name) => `"${name}":${written}`).join(',')}}`;
  };
}

function textsOf(sign: string): Shape {
  return eachField((size, fields) => `"${sign.repeat(Math.ceil((5_000 * size) / fields / sign.length))}"`);
}

/** The shapes of a group are measured together: work that grows with a square soon outweighs the rest. */
const GROUPS = {
  'many fields': ['many fields', 'fields that repeat'],
  'levels and lists': ['nesting', 'long lists'],
  texts: Object.keys(SHAPES).filter((shape) => /text|Unicode|halves/.test(shape)),
  // Larger ones may be refused with less work, which would hide work of other shapes.
  numbers: ['numbers of many digits'],
};

interface Parser {
  name: string;
  names: readonly string[];
  /** The fields of a good request, as JSON. */
  good: string;
  parse(text: string): () => unknown;
}

const PARSERS: Parser[] = [
  ...OPERATIONS.flatMap((operation) =>
    distinct(operation.routes).map((route) => ({
      name: `${route.method} ${route.path}`,
      ...fieldsOf(operation.params, OPERATION_SAMPLES[operation.name]?.[0]),
      parse: (text: string) => {
        const request = requestTo(route, text) as unknown as FastifyRequest;
        return () => parseInput(operation, route, request, NOW);
      },
    })),
  ),
  ...ENDPOINTS.flatMap(({ method, path, query, uploadQuery, body, document, upload }) =>
    Object.entries({
      query,
      uploadQuery,
      body: body?.schema,
      document: document?.schema,
      upload: upload?.schema,
    }).flatMap(([part, schema]) =>
      schema
        ? [
            {
              name: `${part} of ${method} ${path}`,
              ...fieldsOf(schema, (body ?? document ?? upload)?.example),
              parse: (text: string) => {
                const raw = /query/i.test(part) ? asQuery(text) : parsed(text);
                return () => parseAs(schema, raw);
              },
            },
          ]
        : [],
    ),
  ),
];

/** One route of each method and decoding. */
function distinct(routes: readonly Route[]): Route[] {
  const isSame = (a: Route) => (b: Route) => a.method === b.method && a.decode === b.decode;
  return routes.filter((route, i) => routes.findIndex(isSame(route)) === i);
}

function fieldsOf(schema: z.ZodType, sample: unknown): Pick<Parser, 'names' | 'good'> {
  const fields = typeof sample === 'object' && sample !== null ? sample : {};
  const names = Object.keys((schema as { shape?: object }).shape ?? fields);
  const written = JSON.stringify(fields).slice(1, -1);
  return { names: names.length > 0 ? names : ['x'], good: written === '' ? '' : `${written},` };
}

function requestTo({ method, jsonParameter }: Route, text: string): RawRequest {
  if (jsonParameter) return { query: { [jsonParameter]: text }, body: undefined, params: {} };
  return method === 'GET'
    ? { query: asQuery(text), body: undefined, params: {} }
    : { query: {}, body: parsed(text), params: {} };
}

/** Parses a body as the service does, which refuses numbers with too many digits. */
function parsed(text: string): Record<string, unknown> {
  try {
    return parseJson(text) as Record<string, unknown>;
  } catch {
    return {};
  }
}

/** Parses a query with these fields as the service does. */
function asQuery(text: string): Record<string, unknown> {
  const written = Object.entries(parsed(text)).flatMap(([name, value]) =>
    [value]
      .flat(1)
      .map((one): [string, string] => [name, typeof one === 'string' ? one : stringifyJson(one)]),
  );
  return parseQuery(new URLSearchParams(written).toString(), '&', '=', { maxKeys: 0 });
}

/** Divides parsers into groups that are measured together, with their names. */
function chunks(parsers: readonly Parser[], size: number): [names: string, parsers: Parser[]][] {
  return Array.from({ length: Math.ceil(parsers.length / size) }, (_, i) => {
    const chunk = parsers.slice(i * size, (i + 1) * size);
    return [chunk.map(({ name }) => name).join(', '), chunk];
  });
}

function inputsOf(shapes: readonly string[], { names, good }: Parser, size: number): string[] {
  return shapes.map((shape) => {
    const text = SHAPES[shape]?.(names, good, size) ?? '';
    if (text.length > BODY_LIMIT_BYTES) throw new Error(`${shape} is ${text.length} characters long`);
    return text;
  });
}

/** Parsing inputs of these shapes, of a size. */
function parsing(shapes: readonly string[], parser: Parser): TaskOf {
  return (size) => {
    const tasks = inputsOf(shapes, parser, size).map(parser.parse);
    return () => tasks.map(refusable);
  };
}

const FINDER = PARSERS.find(({ name }) => name === 'POST /api/market/productfinder') as Parser;

for (const [group, shapes] of Object.entries(GROUPS)) {
  test.for(chunks(PARSERS, 8))(`parsing ${group} takes linear work for %s`, async ([, parsers]) => {
    const tasks = parsers.map((parser) => ({ name: parser.name, taskOf: parsing(shapes, parser) }));
    await expectLinearWorkOfEach(meter, tasks);
  });

  test(`scanning and parsing a JSON body of ${group} takes linear work`, async () => {
    await expectLinear((size) => {
      const texts = inputsOf(shapes, FINDER, size);
      return () => texts.map((text) => [callerJsonFault(text), parsed(text)]);
    });
  });

  test(`reading lines of a batch of ${group} takes linear work`, async () => {
    await expectLinear((size) => {
      const lines = inputsOf(shapes, FINDER, size).join('\n');
      return () => read('market.productfinder', lines);
    });
  });
}

test('reading many lines of a batch takes linear work', async () => {
  const line = (i: number) => `{"domain":1,"asin":"B0${String(i).padStart(8, '0')}"}`;
  await expectLinear((size) => {
    const lines = Array.from({ length: 200 * size }, (_, i) => line(i)).join('\n');
    return () => read('market.product', lines);
  });
});

test.for<[what: string, params: object]>([
  ['many items', { domain: 1 }],
  ['many items with long parameters', { domain: 1, fields: 'asin,title,'.repeat(8) }],
])('reading a schedule of %s takes linear work', async ([_what, params]) => {
  await expectLinear((size) => {
    const split = { asins: asinsFrom('B0', 100 * size) };
    const batch = { operation: 'market.product', params, split };
    const body = JSON.stringify({ name: 'Linear', cron: '0 * * * *', batch });
    return async () => {
      const { operation, raws } = (await readSchedule(body)).batch;
      await readItems(operation, raws, async () => undefined, NOW, DOCUMENT_ITEM_LIMITS);
    };
  });
});

async function read(operation: string, body: string): Promise<unknown> {
  try {
    return await readBatch({ type: 'ndjson', body, query: { operation } }, async () => undefined, NOW);
  } catch (error) {
    if (error instanceof BatchFaults) return error;
    throw error;
  }
}

/** A part of the fields that a body may have. */
const FIELDS = 60;

test.for<[work: keyof Work, name: string, taskOf: TaskOf]>([
  [
    'bytes',
    'spreading an object in a loop',
    (size) => () => {
      let gathered: Record<string, number> = {};
      for (let i = 0; i < FIELDS * size; i += 1) gathered = { ...gathered, [`current_${i}`]: i };
    },
  ],
  [
    'blocks',
    'a loop within a loop',
    (size) => () => {
      let pairs = 0;
      for (let i = 0; i < FIELDS * size; i += 1) for (let j = 0; j < i; j += 1) pairs += 1;
      return pairs;
    },
  ],
  [
    'reads',
    'searching a list in a loop',
    (size) => () => {
      const seen: number[] = [];
      for (let i = 0; i < FIELDS * size; i += 1) if (!seen.includes(i)) seen.push(i);
    },
  ],
  ['reads', 'converting digits', (size) => () => BigInt('9'.repeat(FIELDS * size))],
])(
  'the measurement detects %s that grow with the square, for %s among parsers',
  async ([work, name, taskOf]) => {
    const parsers = PARSERS.slice(0, 7).map((parser) => ({
      name: parser.name,
      taskOf: parsing(GROUPS['many fields'], parser),
    }));
    // It is found in each measurement: others are for work of the rest of the process.
    const found = expectLinearWorkOfEach(meter, [{ name, taskOf }, ...parsers], 2);
    await expect(found).rejects.toThrow(`square part of ${work}`);
  },
);
