import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { z } from 'zod';
import { ENDPOINTS } from '../../src/api/endpoints/index.ts';
import { BODY_LIMIT_BYTES } from '../../src/api/plugins/body-parsing.ts';
import { parseAs } from '../../src/api/request-input.ts';
import { BatchFaults, readBatch } from '../../src/batches/request.ts';
import { OPERATIONS } from '../../src/operations/index.ts';
import { CALLER_JSON_LIMITS, callerJsonFault } from '../../src/platform/caller-json.ts';
import { SoukError } from '../../src/platform/errors.ts';
import { parseJson } from '../../src/platform/json.ts';
import { OPERATION_SAMPLES } from '../support/operation-samples.ts';
import { openWorkMeter, type WorkMeter } from '../support/work.ts';

// One request must not stop a process: an input that is eight times as large takes about eight times the work.
const TIMES = 8;
const TOLERANCE = 1.6;

/** Work that does not grow with the input, and the error of the samples. */
const CONSTANT = { blocks: 20_000, bytes: 300_000 };

let meter: WorkMeter;
beforeAll(async () => {
  meter = await openWorkMeter();
});
afterAll(() => meter.close());

async function expectLinear(task: (times: number) => () => unknown): Promise<void> {
  const [small, large] = [task(1), task(TIMES)];
  // The first run compiles.
  await small();
  await large();
  const [before, after] = [await meter.measure(small), await meter.measure(large)];
  for (const kind of ['blocks', 'bytes'] as const)
    expect(after[kind], `${kind}: ${before[kind]} before`).toBeLessThanOrEqual(
      TIMES * TOLERANCE * before[kind] + CONSTANT[kind],
    );
}

/** Does something whose refusal is no fault of the test. */
function refusable(task: () => unknown): void {
  try {
    task();
  } catch (error) {
    if (!(error instanceof SoukError)) throw error;
  }
}

const repeated = (length: number, make: (i: number) => string) =>
  Array.from({ length }, (_, i) => make(i)).join(',');

/** JSON objects that grow with `times`, below every limit at 8. The fields of a good request come first. */
const SHAPES: Record<string, (names: readonly string[], good: string, times: number) => string> = {
  'many fields': (_, good, times) => `{${good}${repeated(110 * times, (i) => `"current_${i}":${i}`)}}`,
  'fields that repeat': (names, good, times) =>
    `{${good}${repeated(110 * times, (i) => `"${names[i % names.length] ?? 'x'}":"x${i}"`)}}`,
  nesting: (names, good, times) =>
    `{${good}${names.map((name) => `"${name}":${'['.repeat(2 * times)}1${']'.repeat(2 * times)}`).join(',')}}`,
  'long lists': (names, good, times) =>
    `{${good}${names.map((name) => `"${name}":[${repeated(Math.ceil((60 * times) / names.length), (i) => `"x${i}"`)}]`).join(',')}}`,
  'long texts': textsOf('a'),
  'texts of commas': textsOf('b,'),
  'texts of digits': textsOf('9'),
  'texts of spaces': textsOf(' '),
  'odd Unicode': textsOf('\u0130\u0301'),
  'halves of characters': textsOf('\\ud800'),
  'numbers of many digits': (names, good, times) =>
    `{${good}${names.map((name) => `"${name}":${'9'.repeat(length(names, times))}`).join(',')}}`,
};

function textsOf(sign: string) {
  return (names: readonly string[], good: string, times: number) =>
    `{${good}${names.map((name) => `"${name}":"${sign.repeat(Math.ceil(length(names, times) / sign.length))}"`).join(',')}}`;
}

/** Characters for each of the fields, so that all of them are within the limit of a body. */
function length(names: readonly string[], times: number): number {
  return Math.floor((5_000 * times) / Math.max(1, names.length));
}

interface Parser {
  name: string;
  schema: z.ZodType;
  /** Fields of a good request. */
  sample: Record<string, unknown>;
}

const PARSERS: Parser[] = [
  ...OPERATIONS.map(({ name, params }) => ({
    name,
    schema: params,
    sample: OPERATION_SAMPLES[name]?.[0] ?? {},
  })),
  ...ENDPOINTS.flatMap(({ method, path, query, uploadQuery, body, upload }) =>
    Object.entries({ query, uploadQuery, body: body?.schema, upload: upload?.schema }).flatMap(
      ([part, schema]) =>
        schema
          ? [
              {
                name: `${part} of ${method} ${path}`,
                schema,
                sample: exampleOf(body?.example ?? upload?.example),
              },
            ]
          : [],
    ),
  ),
];

function exampleOf(example: unknown): Record<string, unknown> {
  return typeof example === 'object' && example !== null ? (example as Record<string, unknown>) : {};
}

function inputOf(shape: keyof typeof SHAPES, { schema, sample }: Parser, times: number): string {
  const names = Object.keys((schema as { shape?: object }).shape ?? sample);
  const written = JSON.stringify(sample).slice(1, -1);
  const text =
    SHAPES[shape]?.(names.length > 0 ? names : ['x'], written === '' ? '' : `${written},`, times) ?? '';
  if (text.length > BODY_LIMIT_BYTES) throw new Error(`${shape} is ${text.length} characters long`);
  return text;
}

/** The shapes of a group are measured together: what grows faster than its input soon outweighs the others. */
const GROUPS = [
  ['fields, lists and levels', ['many fields', 'fields that repeat', 'nesting', 'long lists']],
  ['texts and digits', Object.keys(SHAPES).filter((shape) => /text|Unicode|halves|digits/.test(shape))],
] as const;

const FINDER = PARSERS.find(({ name }) => name === 'market.productfinder') as Parser;

describe.each(GROUPS)('parsing many %s takes linear work', (_group, shapes) => {
  const inputsOf = (parser: Parser, times: number) => shapes.map((shape) => inputOf(shape, parser, times));

  test.each(PARSERS.map((parser) => [parser.name, parser] as const))('for %s', async (_name, parser) => {
    await expectLinear((times) => {
      const raws = inputsOf(parser, times).map(parsed);
      return () => {
        for (const raw of raws) refusable(() => parseAs(parser.schema, raw));
      };
    });
  });

  test('for the scanner of JSON bodies', async () => {
    await expectLinear((times) => {
      const texts = inputsOf(FINDER, times);
      return () => texts.map(callerJsonFault);
    });
  });

  test('for the lines of a batch', async () => {
    await expectLinear((times) => {
      const upload = {
        type: 'ndjson',
        body: inputsOf(FINDER, times).join('\n'),
        query: { operation: 'market.productfinder' },
      } as const;
      return () =>
        readBatch(upload, async () => undefined, Date.UTC(2026, 2, 10)).catch((error: unknown) => {
          if (!(error instanceof BatchFaults)) throw error;
        });
    });
  });
});

/** What the service makes of a body; a number of too many digits is refused there. */
function parsed(text: string): unknown {
  try {
    return parseJson(text);
  } catch {
    return {};
  }
}

test('reading many lines of a batch takes work that is linear in their number', async () => {
  await expectLinear((times) => {
    const lines = Array.from(
      { length: 200 * times },
      (_, i) => `{"domain":1,"asin":"B0${String(i).padStart(8, '0')}"}`,
    );
    const upload = {
      type: 'ndjson',
      body: lines.join('\n'),
      query: { operation: 'market.product' },
    } as const;
    return () => readBatch(upload, async () => undefined, Date.UTC(2026, 2, 10));
  });
});

test('the measurement detects the quadratic work of spreading an object in a loop', async () => {
  const spread = (fields: number) => () => {
    let gathered: Record<string, number> = {};
    for (let i = 0; i < fields; i += 1) gathered = { ...gathered, [`current_${i}`]: i };
    return gathered;
  };
  await expect(expectLinear((times) => spread((CALLER_JSON_LIMITS.fields / TIMES) * times))).rejects.toThrow(
    'bytes',
  );
});
