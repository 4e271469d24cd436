import { expect, test } from 'vitest';
import { gatewayPauses, workerPauses } from '../../src/batches/pauses.ts';
import { type BatchRequest, readBatch, type Upload } from '../../src/batches/read-batch.ts';
import { BatchFaults } from '../../src/batches/upload-text.ts';
import { asinsFrom } from '../support/batches.ts';

const NOW = Date.parse('2026-03-04T10:00:00Z');

const inJson = (document: unknown): Upload => ({
  type: 'json',
  body: typeof document === 'string' ? document : JSON.stringify(document),
});
const inLines = (lines: readonly string[], query: Record<string, unknown> = {}): Upload => ({
  type: 'ndjson',
  body: lines.join('\n'),
  query: { operation: 'market.product', ...query },
});

function read(upload: Upload): Promise<BatchRequest> {
  return readBatch(upload, async () => {}, NOW);
}

async function faultsOf(upload: Upload) {
  try {
    await read(upload);
  } catch (error) {
    if (error instanceof BatchFaults) return error.faults;
    throw error;
  }
  throw new Error('nothing is wrong with it');
}

const operation = 'market.product';
const good = { domain: 1, asin: 'B0REQUEST1' };
const split = (values: unknown[], params: object = { domain: 1 }) => ({
  operation,
  params,
  split: { asins: values },
});

test('reads the same items from all three forms of a batch', async () => {
  const asins = asinsFrom('B0FORM', 3);
  const forms = [
    inJson({ operation, items: asins.map((asin) => ({ domain: 1, asins: asin })) }),
    inJson(split(asins)),
    inLines([...asins.map((asin) => JSON.stringify({ domain: 1, asins: asin })), '']),
  ];
  const [items, ...others] = await Promise.all(forms.map(async (form) => (await read(form)).items));
  expect(items?.map(({ input }) => (input as { asins: string[] }).asins)).toEqual(
    asins.map((asin) => [asin]),
  );
  for (const other of others) expect(other).toEqual(items);
});

test('settings have defaults, and are read from the query if the body is lines', async () => {
  const none = {
    name: null,
    maxUnits: null,
    window: 'any',
    deadlineAt: null,
    webhook: null,
    idempotencyKey: null,
  };
  expect((await read(inJson({ operation, items: [good] }))).settings).toEqual(none);
  const given = {
    name: 'weekly',
    maxUnits: '7',
    window: 'off_peak',
    deadline: '2026-05-01T12:00:00+02:00',
    webhook: 'https://hooks.example/x',
    idempotencyKey: 'k1',
  };
  expect((await read(inLines([JSON.stringify(good)], { ...given, dryRun: '1' }))).settings).toEqual({
    name: 'weekly',
    maxUnits: 7,
    window: 'off_peak',
    deadlineAt: Date.parse('2026-05-01T10:00:00Z'),
    webhook: 'https://hooks.example/x',
    idempotencyKey: 'k1',
  });
});

test('reports every error of every item with its index', async () => {
  const bad = [good, { domain: 1 }, good, { domain: 77, asin: 'short' }, 'no object', null];
  const expected = [
    { index: 1, parameter: 'asins' },
    { index: 3, parameter: 'domain' },
    { index: 3, parameter: 'asins' },
    { index: 4, parameter: 'body' },
    { index: 5, parameter: 'body' },
  ];
  const named = async (upload: Upload) =>
    (await faultsOf(upload)).map(({ index, parameter }) => ({ index, parameter }));
  expect(await named(inJson({ operation, items: bad }))).toEqual(expected);
  expect(await named(inLines(bad.map((item) => JSON.stringify(item))))).toEqual(expected);
  expect(await named(inJson(split(['B0REQUEST1', 'B0', 5, null, ['B0REQUEST2']])))).toEqual([
    { index: 1, parameter: 'asins' },
    { index: 2, parameter: 'asins' },
    { index: 3, parameter: 'asins' },
  ]);
});

test('reports lines that are not JSON by line and index, and skips empty lines', async () => {
  const line = JSON.stringify(good);
  expect(await faultsOf(inLines(['', line, '{"domain":', ' ', `${line}\r`, '\u0000', '']))).toEqual([
    { index: 1, parameter: 'body', problem: 'line 3 is not valid JSON' },
    { index: 3, parameter: 'body', problem: 'line 6 is not valid JSON' },
  ]);
});

const sound = { operation, items: [good] };

test.each<[string, unknown, string, RegExp]>([
  ['no JSON', '{"operation"', 'body', /is not valid JSON/],
  ['nothing', '', 'body', /is not valid JSON/],
  ['a list', [good], 'body', /must be a JSON object/],
  [
    'an unknown operation',
    { operation: 'market.nothing', items: [good] },
    'operation',
    /must be one of .*market\.product/,
  ],
  [
    'an operation without units',
    { operation: 'market.charturl', items: [good] },
    'operation',
    /must be one of/,
  ],
  ['no operation', { items: [good] }, 'operation', /is required/],
  ['no items', { operation }, 'items', /is required/],
  ['an empty list', { operation, items: [] }, 'items', /at least one/],
  ['an empty list to split', split([]), 'split', /at least one/],
  ['no list', { operation, items: good }, 'items', /must be a list/],
  ['items and split', { ...split(['B0REQUEST1']), items: [good] }, 'items', /split are both present/],
  [
    'items and params',
    { operation, params: { domain: 1 }, items: [good] },
    'params',
    /can be used with split only/,
  ],
  [
    'two lists to split',
    { operation, split: { asins: ['B0REQUEST1'], domain: [1, 2] } },
    'split',
    /exactly one parameter with a list/,
  ],
  ['an empty split object', { operation, split: {} }, 'split', /exactly one parameter with a list/],
  ['no list to split', { operation, split: { asins: 'B0REQUEST1' } }, 'split.asins', /must be a list/],
  [
    'a list that is also in params',
    split(['B0REQUEST1'], { domain: 1, asins: ['B0REQUEST2'] }),
    'params',
    /"asins"/,
  ],
  ['an unknown field', { ...sound, itmes: [] }, 'itmes', /is not a known field; did you mean items\?/],
  ['an unknown window', { ...sound, window: 'night' }, 'window', /any, off_peak/],
  ['a bad limit', { ...sound, maxUnits: -1 }, 'maxUnits', /integer of at least 0/],
  ['a deadline without time', { ...sound, deadline: '2026-05-01' }, 'deadline', /ISO 8601/],
  [
    'a deadline on a day that does not exist',
    { ...sound, deadline: '2026-02-30T00:00:00Z' },
    'deadline',
    /ISO 8601/,
  ],
  ['a deadline at hour 24', { ...sound, deadline: '2026-02-20T24:00:00Z' }, 'deadline', /ISO 8601/],
  ['a name with NUL', { ...sound, name: 'a\u0000b' }, 'name', /control characters/],
  ['an unpaired surrogate', { ...sound, idempotencyKey: '\ud800' }, 'idempotencyKey', /control characters/],
])('refuses %s, and names the field', async (_, document, parameter, problem) => {
  const faults = await faultsOf(inJson(document));
  expect(faults).toHaveLength(1);
  expect(faults[0]).toMatchObject({ parameter, problem: expect.stringMatching(problem) });
});

test('reports all invalid settings together', async () => {
  const faults = await faultsOf(inJson({ operation: 'x', items: [good], window: 'y', maxUnits: 'z' }));
  expect(faults.map(({ parameter }) => parameter).sort()).toEqual(['maxUnits', 'operation', 'window']);
});

test('reports an item with a date outside the allowed range, but no item without a date', async () => {
  const items = [{ trendDate: '2026-03-04' }, { trendDate: '2025-01-01' }, {}];
  const faults = await faultsOf(inJson({ operation: 'trends.daily-trends', items }));
  expect(faults).toMatchObject([{ index: 1, parameter: 'trendDate' }]);
});

test('reads 100,000 items, yields to other events meanwhile, and refuses 100,001', async () => {
  const asins = asinsFrom('B', 100_001);
  let breaths = 0;
  const upload = inJson(split(asins.slice(1)));
  const yieldToEvents = async () => {
    breaths += 1;
  };
  const { items } = await readBatch(upload, yieldToEvents, NOW);
  expect(items).toHaveLength(100_000);
  expect(breaths).toBeGreaterThan(100);
  const problem = 'must be at most 100000 items; 100001 were given';
  expect(await faultsOf(inJson(split(asins)))).toEqual([{ parameter: 'split', problem }]);
  expect(await faultsOf(inLines(asins.map(() => '{}')))).toEqual([{ parameter: 'items', problem }]);
});

test('refuses an unknown field of an item by its index, with the nearest known one', async () => {
  expect(await faultsOf(inJson({ operation, items: [good, { ...good, detailLevl: 'full' }] }))).toEqual([
    { index: 1, parameter: 'detailLevl', problem: 'is not a known field; did you mean detailLevel?' },
  ]);
});

test('ignores __proto__ in items, and refuses it as a split parameter', async () => {
  const { items } = await read(
    inJson(
      `{"operation":"${operation}","items":[{"domain":1,"asin":"B0REQUEST1","__proto__":{"detailLevel":"full"}}]}`,
    ),
  );
  expect(items[0]?.input).toMatchObject({ detailLevel: 'lite' });
  const faults = await faultsOf(inJson(`{"operation":"${operation}","split":{"__proto__":["B0REQUEST1"]}}`));
  expect(faults[0]?.parameter).not.toBe('');
  expect(
    await faultsOf(inJson({ operation, params: { domain: 1 }, split: { toString: ['x'] } })),
  ).toMatchObject([
    { index: 0, parameter: 'toString', problem: 'is not a known field' },
    { index: 0, parameter: 'asins' },
  ]);
});

test('reports an item that is nested too deeply or too large by its index', async () => {
  const deep = `${'['.repeat(200_000)}${']'.repeat(200_000)}`;
  const items = `[${JSON.stringify(good)},{"domain":1,"asin":"B0REQUEST1","note":${deep}}]`;
  expect(await faultsOf(inJson(`{"operation":"${operation}","items":${items}}`))).toEqual([
    { index: 1, parameter: 'body', problem: 'is nested more than 64 levels deep' },
  ]);
  const large = { ...good, note: 'x'.repeat(50_000) };
  expect(await faultsOf(inJson({ operation, items: [good, large] }))).toMatchObject([
    { index: 1, parameter: 'body', problem: expect.stringMatching(/at most 49152 bytes/) },
  ]);
});

test('limits the size of the parameters that split copies into each item', async () => {
  const params = { domain: 1, asin: good.asin.padEnd(40_000) };
  const daysUpTo = (count: number) =>
    inJson({ operation, params, split: { days: Array.from({ length: count }, (_, i) => i + 1) } });
  expect(await faultsOf(daysUpTo(2_000))).toEqual([
    { parameter: 'items', problem: expect.stringMatching(/at most 67108864 bytes in total/) },
  ]);
  await read(daysUpTo(1_000));
});

test('refuses parameters that are too large for so many items before it copies them', async () => {
  const params = Object.fromEntries(Array.from({ length: 900 }, (_, i) => [`parameter${i}`, 1]));
  expect(await faultsOf(inJson(split(asinsFrom('B', 100_000), params)))).toEqual([
    { parameter: 'items', problem: expect.stringMatching(/at most 67108864 bytes in total/) },
  ]);
});

const fieldsOf = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, i) => [`f${i}`, 1]));

test.each<[string, Upload, object]>([
  ['shared parameters of 1,001 fields', inJson(split(['B0REQUEST1'], fieldsOf(1_001))), {}],
  ['1,001 unknown fields', inJson({ operation, items: [good], ...fieldsOf(999) }), {}],
  [
    'an item of 1,001 fields',
    inJson({ operation, items: [good, { ...good, note: fieldsOf(1_001) }] }),
    { index: 1 },
  ],
  ['a line of 1,001 fields', inLines([JSON.stringify(good), JSON.stringify(fieldsOf(1_001))]), { index: 1 }],
  [
    'a line of 1,001 fields after many spaces',
    inLines([JSON.stringify(good), `${' '.repeat(300_000)}${JSON.stringify(fieldsOf(1_001))}`]),
    { index: 1 },
  ],
])('refuses %s', async (_, upload, where) => {
  const problem = 'has an object with more than 1000 fields';
  expect(await faultsOf(upload)).toEqual([{ ...where, parameter: 'body', problem }]);
});

test.each([
  ['items', { operation, items: Array.from({ length: 200_001 }, () => 1) }, {}],
  ['values in an item', { operation, items: [good, { asins: Array(200_001).fill(1) }] }, { index: 1 }],
])('refuses a list of 200,001 %s', async (_, document, where) => {
  const problem = 'has a list of more than 200000 values';
  expect(await faultsOf(inJson(document))).toEqual([{ ...where, parameter: 'body', problem }]);
});

/** Counts how often other work runs during a task. */
async function turnsDuring(task: () => Promise<unknown>): Promise<number> {
  let turns = 0;
  let isDone = false;
  const count = () => {
    if (isDone) return;
    turns += 1;
    setImmediate(count);
  };
  setImmediate(count);
  await task();
  isDone = true;
  return turns;
}

test('lets other work run while it reads a document of 16 MB', async () => {
  const items = Array.from({ length: 340 }, () => ({ ...good, asin: good.asin.padEnd(48_000) }));
  expect(await turnsDuring(() => read(inJson({ operation, items })))).toBeGreaterThan(0);
});

test.each([
  ['a worker', workerPauses],
  ['a gateway', gatewayPauses],
])('lets other work of %s run often while it reads 10,000 items', async (_, turns) => {
  const upload = inJson(split(asinsFrom('B0', 10_000)));
  expect(await turnsDuring(() => readBatch(upload, turns(), NOW))).toBeGreaterThan(5);
});

test('counts the lines of an upload of empty lines, and yields to other events meanwhile', async () => {
  let breaths = 0;
  const yieldToEvents = async () => {
    breaths += 1;
  };
  const upload = inLines([...Array<string>(1_000_000).fill(''), JSON.stringify(good)]);
  expect((await readBatch(upload, yieldToEvents, NOW)).items).toHaveLength(1);
  expect(breaths).toBeGreaterThan(50);
});

test('limits the number of reported errors', async () => {
  const wrong = Object.fromEntries(Array.from({ length: 900 }, (_, i) => [`f${i}`, 1]));
  const items = Array.from({ length: 200 }, () => ({ domain: 1, ...wrong }));
  const faults = await faultsOf(inJson({ operation: 'market.deal', items }));
  expect(faults.length).toBeLessThan(110_000);
  expect(faults.at(-1)).toEqual({ parameter: 'items', problem: 'have more faults than are listed here' });
});
