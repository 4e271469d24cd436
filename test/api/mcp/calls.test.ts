import { describe, expect } from 'vitest';
import { OPERATIONS } from '../../../src/operations/index.ts';
import { newAsin } from '../../support/answers.ts';
import type { Client } from '../../support/client.ts';
import { test as base } from '../../support/demo-souk-test.ts';
import { connectAgent, ERAS, openAgent } from '../../support/mcp-client.ts';
import { OPERATION_SAMPLES } from '../../support/operation-samples.ts';
import { unitsUsed } from '../../support/units.ts';

/** `demoSouk`: a service whose upstream is the demo provider, which has an answer for each sample. */
const test = base
  /** It has listed all tools, so it checks answers against their schemas. */
  .extend('demoAgent', { scope: 'file' }, async ({ demoClient }, { onCleanup }) => {
    const agent = await openAgent(demoClient, { toolsets: 'all' });
    onCleanup(() => agent.client.close());
    await agent.client.listTools();
    return agent;
  });

/** The defaults of the HTTP interface that differ from those of the tools. */
const HTTP_DEFAULTS: Record<string, object> = {
  'market.product': { detailLevel: 'lite' },
  'market.productsearch': { detailLevel: 'lite' },
  'market.variations': { detailLevel: 'full', perPage: 1000 },
  'aba.rank': { limit: 200 },
};

describe('with the demo of the provider', () => {
  /** The answer of the HTTP endpoint to a sample, by its canonical route. */
  async function overHttp(client: Client, name: string, sample: Record<string, unknown>) {
    const [route] = OPERATIONS.find((operation) => operation.name === name)?.routes ?? [];
    const path = (route?.path ?? '').replace(/:(\w+)/g, (_, field: string) => String(sample[field]));
    if (route?.method === 'POST') return client.post(path, sample);
    const query = new URLSearchParams(
      Object.entries(sample).map(([field, value]): [string, string] => [field, String(value)]),
    );
    return client.get(`${path}?${query.toString()}`);
  }

  /** A sample as arguments of a tool, for raw values: filters of the product finder are in its selection. */
  function argumentsOf(name: string, sample: Record<string, unknown>): Record<string, unknown> {
    const raw = name === 'account.quota' || name === 'market.graphimage' ? {} : { decode: false };
    if (name !== 'market.productfinder') return { ...sample, ...raw };
    const { domain, stats, sort, ...selection } = sample;
    return JSON.parse(JSON.stringify({ domain, stats, sort, selection, ...raw }));
  }

  test.for(OPERATIONS)(
    '$tool with decode=false returns what its HTTP endpoint returns, as one job and one charge',
    async ({ tool, name }, { demoClient, demoAgent }) => {
      for (const sample of OPERATION_SAMPLES[name] ?? []) {
        const defaults = { ...HTTP_DEFAULTS[name], ...sample };
        const answer = await demoAgent.call(tool, argumentsOf(name, defaults));
        expect({ sample, isError: answer.isError, data: answer.data }).toMatchObject({ isError: false });
        const used = await unitsUsed(demoClient);
        const reply = await overHttp(demoClient, name, defaults);
        expect(reply.status).toBe(200);
        // Free operations have no job.
        if (answer.data._call.jobId) {
          expect(reply.headers).toMatchObject({
            'x-deduplicated': 'true',
            'x-units-consumed': '0',
            'x-job-id': answer.data._call.jobId,
          });
        }
        expect(await unitsUsed(demoClient)).toBe(used);
        if (reply.headers['content-type'] === 'image/png') {
          const picture = { type: 'image', mimeType: 'image/png', data: reply.body.toString('base64') };
          expect(answer.content).toContainEqual(picture);
          continue;
        }
        const { _call, _metadata, ...data } = answer.data;
        if ('outline' in data) continue;
        const { serverTime: _, ...expected } = reply.json.data;
        expect(data).toMatchObject(expected);
        expect(answer.content).toEqual([{ type: 'text', text: expect.any(String) }]);
        const [{ text }] = answer.content as unknown as [{ text: string }];
        expect(JSON.parse(text)).toEqual(answer.data);
      }
    },
  );

  test('variations are summaries in pages of 50 by default', async ({ demoSouk }) => {
    const agent = await connectAgent(await demoSouk.client());
    const args = { domain: 1, asin: 'B0C3CDEF01' };
    const { data } = await agent.call('market_get_variations', args);
    expect(data.responseShape).toEqual({ detailLevel: 'summary' });
    expect(data.variations.rows.length).toBeLessThanOrEqual(50);
    const nulls = { ...args, detailLevel: null, perPage: null };
    const { data: same } = await agent.call('market_get_variations', nulls);
    expect(same).toMatchObject({ responseShape: { detailLevel: 'summary' }, _call: { unitsConsumed: 0 } });
    const asked = { ...args, detailLevel: 'summary', perPage: 3 };
    const { data: three } = await agent.call('market_get_variations', asked);
    expect(three).toMatchObject({ variations: { length: 3 }, _pagination: { perPage: 3 } });
  });
});

describe('with an upstream that knows every product', () => {
  describe.each(ERAS)('in the %s protocol', (era) => {
    test('a refusal is a result with code, status and message', async ({ souk }) => {
      const agent = await connectAgent(await souk.client({ plan: null }), { era });
      await agent.client.listTools();
      const refused = await agent.call('market_get_product', { domain: 1, asins: [newAsin()] });
      expect(refused).toMatchObject({
        isError: true,
        data: { error: { code: 'QUOTA_NO_SUBSCRIPTION', status: 429, message: expect.any(String) } },
      });
    });

    test('an unknown tool is an error that names it; a tool that is not listed can be called', async ({
      client,
    }) => {
      const agent = await connectAgent(client, { era });
      await expect(agent.call('market_get_rich')).rejects.toThrow('Unknown tool: market_get_rich');
      expect((await agent.client.listTools()).tools.map(({ name }) => name)).not.toContain('batches_list');
      expect((await agent.call('batches_list')).data.batches).toEqual([]);
    });
  });

  test.for([
    [{}, ['domain', 'asins']],
    [{ domain: 7, asins: ['B000000001'] }, ['domain']],
    [{ domain: 1, asins: 'short' }, ['asins']],
    [{ domain: { a: 1 }, asins: [[['B000000001']]] }, ['domain', 'asins']],
    [{ domain: 1, asins: ['B000000001'], detailLevel: 'huge' }, ['detailLevel']],
    [{ domain: 1, asins: ['B000000001'], colour: 'red', size: 1 }, ['colour', 'size']],
    [{ domain: 1, asins: ['B000000001'], maxUnits: -1 }, ['maxUnits']],
    [{ domain: 1, asins: ['B000000001'], from: '2026-06-01', to: '2026-02-01' }, ['to']],
    [{ domain: 1, country: 'de', asins: ['B000000001'] }, ['domain']],
  ] as const)('names invalid arguments: %j', async ([args, names], { client }) => {
    const agent = await connectAgent(client);
    const { isError, data } = await agent.call('market_get_product', args);
    expect(isError).toBe(true);
    expect(data.error).toMatchObject({ code: 'VALIDATION_FAILED', status: 400 });
    const named = data.error.metadata.errors.map(({ parameter }: { parameter: string }) => parameter);
    expect(named).toEqual(names);
  });

  test.for([
    ['aba_get_word_detail', { wordId: '../../quota' }, 'wordId'],
    ['aba_get_word_detail', { wordId: '..' }, 'wordId'],
    ['aba_get_word_detail', {}, 'wordId'],
    ['jobs_get', { id: '?wait=1' }, 'id'],
    ['jobs_get', { id: { nested: true } }, 'id'],
    ['jobs_get', {}, 'id'],
  ] as const)('refuses an invalid id: %s %j', async ([tool, args, parameter], { client }) => {
    const agent = await connectAgent(client);
    const { isError, data } = await agent.call(tool, args);
    expect(isError).toBe(true);
    expect(data.error.metadata.errors).toMatchObject([{ parameter }]);
  });

  test('the finder takes filters as arguments, listed or not, and in selection', async ({ souk, client }) => {
    souk.upstream.on('query', () => ({ json: { asinList: ['B0FLATARG1'], totalResults: 1 } }));
    const agent = await connectAgent(client, { toolsets: 'products' });
    const { tools } = await agent.client.listTools();
    const { inputSchema } = tools.find(({ name }) => name === 'market_find_products') ?? {};
    expect(inputSchema?.properties).toHaveProperty('title');
    expect(inputSchema?.properties).toHaveProperty('current_NEW_lte');
    for (const args of [
      { domain: 1, title: 'flat', isHighest_NEW: true },
      { domain: 1, selection: { title: 'nested', isHighest_NEW: true } },
      { domain: 1, selection: '{"title": "pasted", "isHighest_NEW": true}' },
    ]) {
      const { isError, data } = await agent.call('market_find_products', args);
      expect([isError, data.asinList]).toEqual([false, ['B0FLATARG1']]);
    }
    expect(souk.upstream.callsTo('query').map(({ body }) => JSON.parse(body))).toMatchObject([
      { title: 'flat', isHighest_NEW: true },
      { title: 'nested', isHighest_NEW: true },
      { title: 'pasted', isHighest_NEW: true },
    ]);
  });

  test.for<[string, Record<string, unknown>, string]>([
    ['market_find_products', { domain: 1, current_NEW_let: 5 }, 'current_NEW_lte'],
    ['market_find_products', { domain: 1, title: 'x', perpage: 50 }, 'perPage'],
    ['market_find_deals', { domainId: 1, daterange: 1 }, 'dateRange'],
    ['market_get_product', { domain: 1, asinz: ['B000000001'] }, 'asins'],
    ['market_get_product', { country: 'uss', asins: ['B000000001'] }, 'did you mean us'],
    [
      'market_get_product',
      { domain: 1, asins: ['B000000001'], detailLevel: 'sumary' },
      'did you mean summary',
    ],
    ['aba_get_word_history', { wordId: 33, limt: 2 }, 'limit'],
    ['aba_search_keywords', { country: 'dee', keyword: 'x' }, 'did you mean de'],
    ['jobs_get', { jobid: 'x' }, 'id'],
  ])('%s refuses %j with one code, and names %s', async ([tool, args, nearest], { client }) => {
    const agent = await connectAgent(client, { toolsets: 'all' });
    const { isError, data } = await agent.call(tool, args);
    expect(isError).toBe(true);
    expect(data.error).toMatchObject({ code: 'VALIDATION_FAILED', status: 400 });
    expect(data.error.message).toContain(nearest);
  });

  const weekly = { name: 'a', cron: '0 6 * * 1', timezone: null, paused: null };
  const ofProducts = { operation: 'market.product', window: null };

  test.for([
    ['market_get_product', { domain: 1, asins: [newAsin()], days: null, maxUnits: null, dryRun: null }],
    [
      'batches_create',
      { ...ofProducts, params: { domain: 1, days: null }, split: { asins: [newAsin()] }, items: null },
    ],
    [
      'schedules_create',
      { ...weekly, batch: { ...ofProducts, items: [{ domain: 1, asins: [newAsin()], days: null }] } },
    ],
    [
      'trackers_create',
      {
        ...weekly,
        domain: 1,
        asins: [newAsin()],
        country: null,
        keywords: null,
        screen: null,
        conditions: [{ type: 'price_below', price: 'new', value: 9 }],
      },
    ],
  ] as const)('treats null as a missing argument: %s', async ([tool, args], { client }) => {
    const agent = await connectAgent(client);
    const { data, isError } = await agent.call(tool, args);
    expect([isError, data.error]).toEqual([false, undefined]);
  });

  test.for([480, 900])('lists the first of %i invalid arguments', async (count, { client }) => {
    const agent = await connectAgent(client);
    const selection = Object.fromEntries(Array.from({ length: count }, (_, i) => [`colour_${i}`, i]));
    const { isError, content, data } = await agent.call('market_find_products', { domain: 1, selection });
    expect(isError).toBe(true);
    expect(data.error).toMatchObject({
      code: 'VALIDATION_FAILED',
      status: 400,
      message: expect.stringMatching(/colour_0.*\.\.\.$/),
    });
    expect(JSON.stringify(content).length).toBeLessThan(8_000);
    // The tool does not read a very large error whole, so it does not know the number.
    if (count < 500) expect(data.error.metadata).toMatchObject({ errors: { length: 10 }, errorCount: count });
  });

  test('preserves ids beyond 2^53', async ({ souk, client }) => {
    souk.upstream.on('search', () => ({
      raw: '{"categories":{"9223372036854775807":{"catId":9223372036854775807,"name":"Blank"}}}',
    }));
    const agent = await connectAgent(client);
    await agent.client.listTools();
    const { content } = await agent.call('market_search_categories', { domain: 1, term: 'blank' });
    expect((content[0] as { text: string }).text).toContain('"catId":9223372036854775807');
    souk.upstream.on('search', () => ({
      raw: `{"categories":{"9223372036854775807":{"catId":9223372036854775807,"name":"${'x'.repeat(45_000)}"}}}`,
    }));
    const large = await agent.call('market_search_categories', { domain: 1, term: 'outlined' });
    expect(large.data).toHaveProperty('outline');
    expect((large.content[0] as { text: string }).text).toContain('"catId":9223372036854775807');
  });
});
