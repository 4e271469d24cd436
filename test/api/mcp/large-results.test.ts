import { randomBytes } from 'node:crypto';
import { Readable } from 'node:stream';
import { encode } from 'gpt-tokenizer/encoding/o200k_base';
import type { Redis } from 'ioredis';
import sharp from 'sharp';
import { expect } from 'vitest';
import { listResources } from '../../../src/api/mcp/resources.ts';
import { redisKeys } from '../../../src/platform/redis-keys.ts';
import { POLL_LIFETIME_MS } from '../../../src/results/cache.ts';
import { everyProductWith, hasDeals, knowsEveryProduct, newAsin } from '../../support/answers.ts';
import { batchOnce, isFinished, startBatch } from '../../support/batches.ts';
import { type Agent, connectAgent } from '../../support/mcp-client.ts';
import { test } from '../../support/shared-souk-test.ts';
import type { Souk } from '../../support/souk.ts';

const deals = Array.from({ length: 3_000 }, (_, i) => ({
  asin: `B${String(i).padStart(9, '0')}`,
  dealState: 'AVAILABLE',
  title: `Größe ${i} 大きさ ${randomBytes(200).toString('hex')}`,
}));
test.beforeAll(({ souk }) => souk.upstream.on('lightningdeal', hasDeals(deals)));

const tokensOf = (value: unknown) => encode(JSON.stringify(value)).length;

/** The Redis key of the answer to a call. */
const answerKey = (souk: Souk, jobId: string) => redisKeys(souk.redisNamespace).callAnswer(jobId);

async function expectKept(souk: Souk, redis: Redis, jobId: string): Promise<void> {
  expect(await redis.pttl(answerKey(souk, jobId))).toBeGreaterThan(POLL_LIFETIME_MS / 2);
}

/** A PNG that does not compress. */
function noise(width: number, height: number): Promise<Buffer> {
  return sharp(randomBytes(width * height * 3), { raw: { width, height, channels: 3 } })
    .png()
    .toBuffer();
}

/** Reads a resource to its end, slice by slice. */
async function readWhole(agent: Agent, uri: string): Promise<{ text: string; slices: number }> {
  let text = '';
  let slices = 0;
  for (let next: unknown = uri; typeof next === 'string'; slices += 1) {
    const { contents } = await agent.client.readResource({ uri: next });
    const [slice, onward] = contents as unknown as { text: string; _meta?: { next: string | null } }[];
    text += slice?.text ?? '';
    next = slice?._meta?.next;
    expect(onward?.text).toBe(typeof next === 'string' ? `Continued at ${next}` : undefined);
  }
  return { text, slices };
}

test('returns an outline and a link to the whole answer if it exceeds the budget', async ({ souk }) => {
  const http = await souk.client();
  const agent = await connectAgent(http, { toolsets: 'all' });
  await agent.client.listTools();
  const { data, content, isError } = await agent.call('market_get_lightning_deals', { domain: 1 });
  expect(isError).toBe(false);
  const uri = `souk://jobs/${data._call.jobId}/result`;
  expect(data).toMatchObject({
    outline: { country: 'us', domainId: 1 },
    resource: uri,
    hint: expect.stringMatching(
      /larger than 6000 tokens.*nextStep returns parts.*free of charge.*request less with .*asin \(a new call, units: .*\), or read souk:/,
    ),
    nextStep: {
      tool: 'jobs_get_result',
      arguments: { id: data._call.jobId, path: 'lightningDeals' },
      units: 0,
    },
    _call: { unitsConsumed: 500, cache: 'MISS' },
  });
  expect(data.outline.lightningDeals.at(-1)).toBe(`... 2997 more of ${deals.length}`);
  expect(data.outline.lightningDeals[0]).toMatchObject({ asin: deals[0]?.asin });
  // The limit applies to the whole result that an agent receives, not only to the outline.
  expect(JSON.stringify(content).length).toBeLessThan(6_000);
  const plain = await http.get('/api/market/lightningdeal?domain=1');
  expect(data.size.bytes).toBe(plain.body.length);
  expect(content).toContainEqual({
    type: 'resource_link',
    uri,
    name: 'The complete answer',
    mimeType: 'application/json',
    size: plain.body.length,
  });
  const { text, slices } = await readWhole(agent, uri);
  expect(slices).toBeGreaterThan(20);
  expect(text === plain.text).toBe(true);
  const { resources } = await agent.client.listResources();
  expect(resources.map((resource) => resource.uri)).toContain(uri);
});

test('a table that a job has written is a resource of its own type', async ({ souk }) => {
  souk.upstream.on('product', knowsEveryProduct);
  const http = await souk.client();
  const agent = await connectAgent(http);
  const made = async (format: string) =>
    http.get(`/api/market/product?domain=1&asins=${newAsin()}&format=${format}`);
  const [csv, xlsx] = [await made('csv'), await made('xlsx')];
  const uriOf = ({ headers }: typeof csv) => `souk://jobs/${headers['x-job-id']}/result`;
  const [text] = (await agent.client.readResource({ uri: uriOf(csv) })).contents;
  expect(text).toMatchObject({ mimeType: 'text/csv', text: csv.text });
  const [workbook] = (await agent.client.readResource({ uri: uriOf(xlsx) })).contents;
  expect(Buffer.from((workbook as { blob: string }).blob, 'base64').equals(xlsx.body)).toBe(true);
  const { resources } = await agent.client.listResources();
  const types = new Map(resources.map(({ uri, mimeType }) => [uri, mimeType]));
  expect([types.get(uriOf(csv)), types.get(uriOf(xlsx))]).toEqual(['text/csv', workbook?.mimeType]);
  const result = await agent.call('jobs_get_result', { id: xlsx.headers['x-job-id'] });
  expect(result.data).toMatchObject({
    size: { bytes: xlsx.body.length },
    hint: expect.stringContaining('file'),
  });
  expect(result.content[1]).toMatchObject({ type: 'resource_link', uri: uriOf(xlsx) });
});

test('returns parts of a large answer by path, offset and fields', async ({ souk }) => {
  const agent = await connectAgent(await souk.client(), { toolsets: 'all' });
  const { data } = await agent.call('market_get_lightning_deals', { domain: 1 });
  const id = data._call.jobId;
  const part = (args: object) => agent.call('jobs_get_result', { id, ...args });
  const asins: string[] = [];
  let calls = 0;
  for (let offset: number | null = 0; offset !== null; calls += 1) {
    const { data: page } = await part({ path: 'lightningDeals', fields: ['asin'], offset });
    expect(page).toMatchObject({ total: deals.length, offset, _call: { unitsConsumed: 0 } });
    expect(tokensOf(page)).toBeLessThan(6_000);
    expect(page.items.columns).toEqual(['asin']);
    asins.push(...page.items.rows.flat());
    offset = page.next;
  }
  expect(asins).toEqual(deals.map(({ asin }) => asin));
  expect(calls).toBeLessThan(8);
  expect((await part({ path: 'lightningDeals.7.asin' })).data.value).toBe(deals[7]?.asin);
  expect((await part({ fields: ['country'] })).data.value).toEqual({ country: 'us' });
  expect((await part({ path: '', offset: 0, fields: ['country'] })).data.value).toEqual({ country: 'us' });
  const wrong = await part({ path: 'lightningDeals.7.moon' });
  expect(wrong).toMatchObject({ isError: true, data: { error: { code: 'VALIDATION_FAILED' } } });
  expect(wrong.data.error.message).toMatch(/lightningDeals\.7 has no moon; it has asin, dealState, title/);
  expect((await part({ offset: -1 })).data.error.code).toBe('VALIDATION_FAILED');
});

test.for([
  ['small enough', 2_000, 3],
  ['too large', 12_000, 4],
] as const)(
  'returns parts in common units of an answer that is %s to be parsed',
  async ([, count, domain], { souk }) => {
    const text = randomBytes(50).toString('hex');
    const many = Array.from({ length: count }, (_, i) => ({
      asin: `B${String(i).padStart(9, '0')}`,
      dealState: 'AVAILABLE',
      title: `${text} ${i}`,
      dealPrice: 1_999,
      endTime: 7_400_360,
    }));
    souk.upstream.on('lightningdeal', hasDeals(many));
    const agent = await connectAgent(await souk.client(), { toolsets: 'all' });
    const { data } = await agent.call('market_get_lightning_deals', { domain });
    souk.upstream.on('lightningdeal', hasDeals(deals));
    expect(data.size.bytes > 2_097_152).toBe(count > 2_000);
    expect(data.nextStep.arguments.path).toBe('lightningDeals');
    const shown = { dealPrice: 19.99, endTime: '2025-01-26T03:20:00Z' };
    const [outlined] = data.outline.lightningDeals;
    if (count > 2_000) {
      expect(outlined).toMatchObject({ dealPrice: 1_999, endTime: 7_400_360 });
      expect(data.hint).toContain('Its values can be raw');
    } else expect(outlined).toMatchObject(shown);
    const part = async (args: object) =>
      (await agent.call('jobs_get_result', { id: data._call.jobId, ...args })).data;
    const fields = ['asin', 'dealPrice', 'endTime'];
    const { items } = await part({ path: 'lightningDeals', fields });
    expect(items.columns).toEqual(fields);
    expect(items.rows[1]).toEqual(['B000000001', shown.dealPrice, shown.endTime]);
    expect((await part({ path: 'lightningDeals.7' })).value).toMatchObject({ asin: 'B000000007', ...shown });
    expect((await part({ path: 'lightningDeals.7.dealPrice' })).value).toBe(shown.dealPrice);
    expect((await part({ path: 'lightningDeals.7.dealPrice', decode: false })).value).toBe(1_999);
  },
);

test('returns parts of an answer that is too large to be parsed in one step', async ({ souk }) => {
  const text = (length: number) => randomBytes(length / 2).toString('hex');
  souk.upstream.on('product', ({ params }) => ({
    json: {
      products: (params.asin ?? '').split(',').map((asin, i) => ({
        asin,
        domainId: 1,
        productType: 0,
        title: `Thing ${i}`,
        features: Array.from({ length: 20 }, () => text(i === 0 ? 150_000 : 50_000)),
      })),
    },
  }));
  const agent = await connectAgent(await souk.client());
  const asins = [newAsin(), newAsin(), newAsin()].sort();
  const { data } = await agent.call('market_get_product', { domain: 1, asins, detailLevel: 'full' });
  expect(data.size.bytes).toBeGreaterThan(4_194_304);
  const part = (args: object) => agent.call('jobs_get_result', { id: data._call.jobId, ...args });
  const { data: list } = await part({ path: 'products', fields: ['asin', 'title'] });
  expect(list).toMatchObject({ total: 3, offset: 0, next: null });
  expect(list.items).toEqual([0, 1, 2].map((i) => ({ asin: asins[i], title: `Thing ${i}` })));
  expect((await part({ path: 'products.2.title' })).data.value).toBe('Thing 2');
  // The first product is itself too large to be parsed.
  for (const args of [{ path: 'products' }, { path: 'products.0' }]) {
    const { data: large } = await part(args);
    expect(large.outline).toMatchObject({ features: expect.stringMatching(/^list of 30\d{5} bytes$/) });
    expect(large.hint).toContain('request a path below');
  }
  const { data: features } = await part({ path: 'products.0.features', offset: 19 });
  expect(features).toMatchObject({ total: 20, offset: 19 });
  expect((await part({ path: 'products.0.moon' })).data.error.message).toContain(
    'products.0 has no moon; it has',
  );
  expect((await part({ path: 'products.3' })).data.error.message).toContain(
    'products has no 3; it has 3 entries',
  );
});

test('returns the results of a batch page by page, and outlines of those beyond the budget', async ({
  souk,
}) => {
  const lengths = [...Array<number>(30).fill(600), 60_000, 3_000_000, 600];
  const asins = lengths.map(() => newAsin());
  const lengthOf = (asin: string) => lengths[asins.indexOf(asin)] ?? 0;
  souk.upstream.on(
    'product',
    everyProductWith((asin) => ({ description: randomBytes(lengthOf(asin) / 2).toString('hex') })),
  );
  const http = await souk.client();
  // Each item is a call of its own.
  const items = asins.map((asin, i) => ({ domain: 1, asins: [asin], detailLevel: 'full', history: i % 2 }));
  const batch = await startBatch(http, { operation: 'market.product', items });
  await batchOnce(souk, http, batch, isFinished, 100);
  const agent = await connectAgent(http, { toolsets: 'all' });
  const indexes: number[] = [];
  const outlined: number[] = [];
  let pages = 0;
  for (let cursor: number | null = null; pages === 0 || cursor !== null; pages += 1) {
    const { data, isError } = await agent.call('batches_get_results', { id: batch.batchId, cursor });
    expect([isError, data.finished, tokensOf(data) <= 6_000]).toEqual([false, true, true]);
    const { columns, rows } = data.results;
    indexes.push(
      ...(rows?.map((row: unknown[]) => row[columns.indexOf('index')]) ??
        data.results.map(({ index }: { index: number }) => index)),
    );
    if (data.outline) outlined.push(data.next);
    cursor = data.next;
    if (cursor !== null) expect(data.hint).toContain(`Continue with cursor=${cursor}`);
  }
  expect(indexes).toEqual(lengths.flatMap((length, i) => (length === 600 ? [i] : [])));
  expect(outlined).toEqual([30, 31]);
  expect(pages).toBeLessThan(12);
  const { data } = await agent.call('batches_get_results', { id: batch.batchId, table: 'products' });
  expect(data).toMatchObject({ next: null, finished: true });
  souk.upstream.on('product', knowsEveryProduct);
});

test('returns the same outline for cached answers and results of jobs', async ({ souk, redis }) => {
  const first = await connectAgent(await souk.client(), { toolsets: 'all' });
  const { data: cached } = await first.call('market_get_lightning_deals', { domain: 1 });
  expect(cached).toMatchObject({ outline: { country: 'us' }, _call: { cache: 'HIT' } });
  await expectKept(souk, redis, cached._call.jobId);
  const { data: again } = await first.call('jobs_get_result', { id: cached._call.jobId });
  expect(again).toMatchObject({ outline: cached.outline, resource: cached.resource });
});

test('reads a slice from any offset, also within a character', async ({ souk }) => {
  const agent = await connectAgent(await souk.client(), { toolsets: 'all' });
  const { data } = await agent.call('market_get_lightning_deals', { domain: 1 });
  const whole = Buffer.from((await readWhole(agent, data.resource)).text);
  const within = whole.indexOf(Buffer.from('大')) + 1;
  const { contents } = await agent.client.readResource({ uri: `${data.resource}?offset=${within}` });
  const [slice] = contents as unknown as { text: string; _meta: { offset: number } }[];
  expect(slice?._meta.offset).toBe(within + 2);
  expect(slice?.text.startsWith('きさ')).toBe(true);
  const beyond = await agent.client.readResource({ uri: `${data.resource}?offset=999999999` });
  expect(beyond.contents).toMatchObject([{ text: '', _meta: { next: null } }]);
});

test('returns an outline for an answer just above the budget', async ({ souk, redis }) => {
  souk.upstream.on('product', ({ params }) => ({
    json: {
      products: [
        { asin: params.asin, domainId: 1, productType: 0, title: 'Thing', description: 'x'.repeat(45_000) },
      ],
    },
  }));
  const agent = await connectAgent(await souk.client());
  const { data } = await agent.call('market_get_product', {
    domain: 1,
    asins: [newAsin()],
    detailLevel: 'lite',
  });
  expect(data).toMatchObject({
    outline: { count: 1, products: [{ title: 'Thing' }] },
    hint: expect.stringContaining('detailLevel'),
  });
  await expectKept(souk, redis, data._call.jobId);
  souk.upstream.on('product', knowsEveryProduct);
});

test('returns the beginning of a large answer without a job', async ({ souk }) => {
  const agent = await connectAgent(await souk.client(), { toolsets: 'visuals' });
  const images = Array.from({ length: 1_000 }, (_, i) => `51abcDEFgh${i}.jpg`);
  const { data } = await agent.call('retail_get_image_url', { domain: 1, images });
  expect(data.outline.beginning).toContain('https://images.test/images/I/51abcDEFgh0.jpg');
  expect(data.nextStep).toMatchObject({ tool: 'retail_get_image_url', units: '0' });
  expect(data).not.toHaveProperty('resource');
});

test('returns a link for a picture above the limit, and its slices as bytes', async ({ souk, redis }) => {
  souk.upstream.on('graphimage', async () => ({ raw: await noise(500, 200), contentType: 'image/png' }));
  const http = await souk.client();
  const agent = await connectAgent(http, { toolsets: 'visuals' });
  const { data, content } = await agent.call('market_get_price_chart', { domain: 1, asin: newAsin() });
  expect(content.map(({ type }) => type)).toEqual(['text', 'resource_link']);
  await expectKept(souk, redis, data._call.jobId);
  const { contents } = await agent.client.readResource({ uri: `souk://jobs/${data._call.jobId}/result` });
  const [slice] = contents as { blob: string; mimeType: string }[];
  expect(slice?.mimeType).toBe('image/png');
  expect(
    Buffer.from(slice?.blob ?? '', 'base64')
      .subarray(1, 4)
      .toString(),
  ).toBe('PNG');
});

test('refuses to read unknown results and results of another account', async ({ souk }) => {
  const agent = await connectAgent(await souk.client());
  const { data } = await agent.call('market_get_product', { domain: 1, asins: [newAsin()] });
  const other = await connectAgent(await souk.client());
  for (const uri of [
    `souk://jobs/${data._call.jobId}/result`,
    'souk://jobs/../quota/result',
    'souk://nothing',
    'https://example.com/',
    `souk://jobs/${data._call.jobId}/result?offset=-1`,
    `souk://batches/${data._call.jobId}/results`,
  ])
    await expect(other.client.readResource({ uri }), uri).rejects.toThrow(/not found/i);
});

test('lists only results that are still stored', async ({ souk, redis }) => {
  const agent = await connectAgent(await souk.client());
  const jobIds: string[] = [];
  for (let i = 0; i < 2; i += 1) {
    const { data } = await agent.call('market_get_product', { domain: 1, asins: [newAsin()] });
    jobIds.push(data._call.jobId);
  }
  const [lost = '', kept = ''] = jobIds;
  await redis.del(answerKey(souk, lost));
  const { resources } = await agent.client.listResources();
  const results = resources.map(({ uri }) => uri).filter((uri) => uri.startsWith('souk://'));
  expect(results).toEqual([`souk://jobs/${kept}/result`]);
});

test('returns the error of the HTTP endpoint if the list fails', async () => {
  const body = JSON.stringify({ code: 'BUSY', msg: 'Not right now.', data: null });
  const send = async () => ({
    status: 503,
    header: () => undefined,
    size: null,
    body: Readable.from([Buffer.from(body)]),
  });
  const caller = { key: 'any', ip: '127.0.0.1', traceparent: undefined };
  await expect(listResources(send, caller, async () => [])).rejects.toThrow('Not right now.');
});

test('refuses an offset beyond the end without reading the answer', async ({ souk }) => {
  const agent = await connectAgent(await souk.client());
  const { data } = await agent.call('market_get_product', { domain: 1, asins: [newAsin()] });
  const uri = `souk://jobs/${data._call.jobId}/result?offset=99999999999`;
  await expect(agent.client.readResource({ uri })).rejects.toThrow(/offset must be at most/);
  await expect(agent.client.readResource({ uri })).rejects.toMatchObject({ code: -32_602 });
});
