import fc from 'fast-check';
import { describe, expect } from 'vitest';
import { OPERATIONS } from '../../src/operations/index.ts';
import type { Client, Reply, RequestOptions } from '../support/client.ts';
import { ODD_TEXTS } from '../support/fuzz/odd-values.ts';
import { repetitions } from '../support/repetitions.ts';
import { test } from '../support/souk-test.ts';
import { unitsUsed } from '../support/units.ts';
import { words } from '../support/words.ts';

// The demo provider refuses bad parameters, so a request that passes our checks wrongly fails.
test.override('demoSettings', { DEMO_TOKENS_PER_MINUTE: '100000', DEMO_LIGHTNING_DEALS: '20' });
test.override('soukOptions', ({ demo }) => ({ upstreamUrl: demo.url }));

const PATHS = [...new Set(OPERATIONS.flatMap(({ routes }) => routes.map(({ path }) => path)))];
const JOB_PATHS = ['/api/jobs/00000000-0000-7000-8000-000000000000', '/api/jobs/x/result'];

/** Charts, and the page at `/`. */
const NOT_JSON = /^(image\/png|text\/html)/;

const usedBefore = new Map<Client, number>();

async function expectDocumentedAnswer(client: Client, path: string, options?: RequestOptions): Promise<void> {
  const reply = await client.get(path, options);
  // The test waits for a call that continues, so that its charge does not count for the next one.
  if (reply.status === 202) await client.get(`${reply.headers.location}?wait=60`);
  const used = await unitsUsed(client);
  const charged = used - (usedBefore.get(client) ?? 0);
  usedBefore.set(client, used);
  expect(reply.status).toBeLessThan(500);
  if (reply.status !== 202) expect(charged).toBe(Number(reply.headers['x-units-consumed'] ?? 0));
  if (reply.status >= 400) {
    expect(charged).toBe(0);
    if (options?.method !== 'HEAD') expectError(reply);
  } else if (options?.method !== 'HEAD' && !NOT_JSON.test(reply.headers['content-type'] ?? '')) {
    expect(reply.json.code).toBe(reply.status === 202 ? 'ACCEPTED' : '0000');
  }
}

function expectError({ json }: Reply): void {
  expect(json).toEqual({
    code: expect.stringMatching(/^[A-Z0-9_]+$/),
    msg: expect.any(String),
    data: null,
    ...(json.metadata ? { metadata: expect.any(Object) } : {}),
  });
}

const NAMES = words(`
  domain domainId country asin asins stats history update offers rating buybox stock days dateRange
  dateRangeStart dateRangeEnd detailLevel state type range width height cbackground yzoom image images
  async wait __proto__ constructor
`);
const TEXTS = [...ODD_TEXTS, ...words('B00RANDOM1 b00random2,B00RANDOM1 US 1 7 a.jpg')];

const name = fc.oneof({ weight: 9, arbitrary: fc.constantFrom(...NAMES) }, fc.string({ maxLength: 20 }));
const value = fc.oneof(
  fc.constantFrom(...TEXTS),
  fc.string({ unit: 'binary', maxLength: 30 }),
  fc.integer().map(String),
  fc.double().map(String),
);
const pairs = fc.array(fc.tuple(name, value), { maxLength: 8 });
/** Pieces of a query, encoded or not. */
const encoded = pairs.map((all) => new URLSearchParams(all).toString());
const rawQuery = fc
  .array(fc.constantFrom(...words('% %zz %E0%A4 %ED%A0%80 & = + ; [ ] asins domain=1 %00 ? /')), {
    maxLength: 12,
  })
  .map((parts) => parts.join(''));
/** The beginning of a good request, so that validation reaches the random part. */
const start = fc.constantFrom(
  '',
  'domain=1&',
  'domain=1&asin=B00RANDOM1&',
  'country=de&image=a.jpg&asin=B00RANDOM2&',
);
const query = fc.tuple(start, fc.oneof(encoded, rawQuery)).map((parts) => parts.join(''));

describe('a random query', () => {
  test.for([...PATHS, ...JOB_PATHS])(
    'to %s gets a documented answer, and a refusal costs nothing',
    async (path, { client }) => {
      await fc.assert(
        fc.asyncProperty(query, (random) => expectDocumentedAnswer(client, `${path}?${random}`)),
        { numRuns: repetitions(5) },
      );
    },
  );
});

describe('a random body', () => {
  const json = fc.oneof(
    fc.jsonValue({ maxDepth: 4 }),
    fc.dictionary(name, fc.oneof(value, fc.jsonValue({ maxDepth: 3 }))),
  );
  const nearlyRight = fc
    .dictionary(name, fc.oneof(value, fc.jsonValue({ maxDepth: 2 })), { maxKeys: 4 })
    .map((random) => ({ domain: 1, asins: ['B00RANDOM1'], ...random }));
  const body = fc.oneof(
    json.map((random) => JSON.stringify(random)),
    nearlyRight.map((random) => JSON.stringify(random)),
    fc.string({ unit: 'binary', maxLength: 60 }),
    fc.uint8Array({ maxLength: 60 }).map((bytes) => Buffer.from(bytes)),
  );
  const type = fc.oneof(
    { weight: 9, arbitrary: fc.constant('application/json') },
    fc.constantFrom(
      'application/json; charset=utf-16',
      'text/json',
      'APPLICATION/JSON',
      ';',
      'application/*',
    ),
  );

  test.for(PATHS)(
    'posted to %s gets a documented answer, and a refusal costs nothing',
    async (path, { client }) => {
      await fc.assert(
        fc.asyncProperty(body, type, (random, contentType) =>
          expectDocumentedAnswer(client, path, {
            method: 'POST',
            body: random,
            headers: { 'content-type': contentType },
          }),
        ),
        { numRuns: repetitions(5) },
      );
    },
  );

  test.for([
    [
      'lists within lists',
      (depth: number) => `{"domain":1,"asins":${'['.repeat(depth)}${']'.repeat(depth)}}`,
    ],
    [
      'objects within objects',
      (depth: number) => `{"domain":${'{"a":'.repeat(depth)}1${'}'.repeat(depth)},"asins":"x"}`,
    ],
    [
      'objects where a list should be',
      (depth: number) => `{"domain":1,"asins":[${'{"a":'.repeat(depth)}1${'}'.repeat(depth)}]}`,
    ],
    [
      'a date range without end',
      (depth: number) => `{"domain":1,"dateRange":${'[{"start":'.repeat(depth)}1${'}]'.repeat(depth)}}`,
    ],
    [
      'an endless number',
      (depth: number) => `{"domain":1,"stats":${'9'.repeat(depth)},"asins":"B00RANDOM1"}`,
    ],
    ['an endless list', (depth: number) => `{"domain":1,"asins":[${'"",'.repeat(depth)}""]}`],
  ] as const)(
    'to %s gets a documented answer, and a refusal costs nothing',
    async ([_what, make], { client }) => {
      for (const depth of [100, 5_000]) {
        await expectDocumentedAnswer(client, '/api/market/product', {
          method: 'POST',
          body: make(depth),
          headers: { 'content-type': 'application/json' },
        });
      }
      const [longest] = [30_000, 15_000, 10_000].filter((depth) => make(depth).length < 65_000);
      await expectDocumentedAnswer(client, '/api/market/product', {
        method: 'POST',
        body: make(longest ?? 5_000),
        headers: { 'content-type': 'application/json' },
      });
    },
  );
});

test('random methods, paths and headers get documented answers', async ({ client }) => {
  const method = fc.constantFrom(...words('GET HEAD POST PUT PATCH DELETE OPTIONS TRACE PROPFIND'));
  const segment = fc.oneof(
    fc.constantFrom('api', 'market', 'product', 'jobs', 'result', '..', '.', '', '%2e%2e', '%00'),
    fc.webSegment(),
  );
  const path = fc.oneof(
    fc.constantFrom(...PATHS, ...JOB_PATHS),
    fc.array(segment, { maxLength: 6 }).map((segments) => `/${segments.join('/')}`),
  );
  const headerText = fc.string({ maxLength: 40 }).map((text) => text.replaceAll(/[^\x20-\x7e]/g, ''));
  const headers = fc.record(
    {
      prefer: fc.oneof(
        fc.constantFrom(...words('wait=0 wait=-1 wait=x wait="2 wait=99999999999 ,,'), 'respond-async; x'),
        headerText,
      ),
      accept: headerText,
      'accept-encoding': fc.oneof(fc.constantFrom('gzip', 'gzip;q=2', '*;q=0', ';;', 'gzip;q='), headerText),
      'content-type': headerText,
      'if-none-match': headerText,
      range: fc.constant('bytes=0-1'),
      'x-request-id': headerText,
      'x-forwarded-for': headerText,
      authorization: headerText.map((text) => `Basic ${text}`),
    },
    { requiredKeys: [] },
  );
  const search = fc.constantFrom('', '?domain=1&asins=B00RANDOM1', '?domain=1&asin=B00RANDOM1');
  await fc.assert(
    fc.asyncProperty(method, path, search, headers, (random, where, what, extra) =>
      expectDocumentedAnswer(client, `${where}${what}`, {
        method: random,
        headers: { 'x-api-key': client.key, ...extra } as Record<string, string>,
      }),
    ),
    { numRuns: repetitions(60) },
  );
});

test('a text in Latin-1 is refused, names the parameter and costs nothing', async ({ client }) => {
  const before = await unitsUsed(client);
  const inBody = await client.get('/api/webtrends/interest-over-time', {
    method: 'POST',
    body: Buffer.from('{"keyword":"caf\u00e9"}', 'latin1'),
    headers: { 'content-type': 'application/json' },
  });
  const inQuery = await client.get('/api/market/productsearch?domain=1&term=caf%E9');
  expect([inBody.status, inBody.json.metadata]).toMatchObject([400, { errors: [{ parameter: 'keyword' }] }]);
  expect([inQuery.status, inQuery.json.metadata]).toMatchObject([400, { errors: [{ parameter: 'term' }] }]);
  expect(await unitsUsed(client)).toBe(before);
});

test('a bad call does not affect good calls at the same time', async ({ souk }) => {
  const others = await Promise.all(Array.from({ length: 8 }, () => souk.client()));
  const bad = '/api/market/productsearch?domain=1&term=a%00b';
  const good = '/api/market/productsearch?domain=1&term=ab';
  const replies = await Promise.all(others.map((other, i) => other.get(i % 2 ? bad : good)));
  expect(replies.map(({ status }) => status)).toEqual([200, 400, 200, 400, 200, 400, 200, 400]);
});
