import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { OPERATIONS } from '../../../src/operations/index.ts';
import { knowsEveryProduct, newAsin } from '../../support/answers.ts';
import type { Client } from '../../support/client.ts';
import { type Demo, openDemo } from '../../support/demo-provider.ts';
import { type Agent, connectAgent, ERAS } from '../../support/mcp-client.ts';
import { loadKeywords, OPERATION_SAMPLES } from '../../support/operation-samples.ts';
import { openSouk, type Souk } from '../../support/souk.ts';
import { unitsUsed } from '../../support/units.ts';

describe('with the demo of the provider', () => {
  let demo: Demo;
  let souk: Souk;
  beforeAll(async () => {
    demo = await openDemo({ DEMO_TOKENS_PER_MINUTE: '1000000', DEMO_LIGHTNING_DEALS: '50' });
    souk = await openSouk({ upstreamUrl: demo.url });
    await loadKeywords(souk.database);
  });
  afterAll(async () => {
    await souk.close();
    await demo.close();
  });

  /** What an address answers to a sample, by its canonical route. */
  async function overHttp(client: Client, name: string, sample: Record<string, unknown>) {
    const [route] = OPERATIONS.find((operation) => operation.name === name)?.routes ?? [];
    const path = (route?.path ?? '').replace(/:(\w+)/g, (_, field: string) => String(sample[field]));
    if (route?.method === 'POST') return client.post(path, sample);
    const query = new URLSearchParams(
      Object.entries(sample).map(([field, value]): [string, string] => [field, String(value)]),
    );
    return client.get(`${path}?${query.toString()}`);
  }

  /** A sample as a tool takes it: what lies beside the parameters of the finder lies in its selection. */
  function argumentsOf(name: string, sample: Record<string, unknown>): Record<string, unknown> {
    if (name !== 'market.productfinder') return sample;
    const { domain, stats, sort, ...selection } = sample;
    return JSON.parse(JSON.stringify({ domain, stats, sort, selection }));
  }

  test.each(OPERATIONS.map(({ name, tool }) => [tool, name]))(
    '%s is the call of its address: the same answer, one claim, one charge',
    async (tool, name) => {
      const http = await souk.client({ plan: { minuteLimit: 100_000 } });
      const agent = await connectAgent(http, { toolsets: 'all' });
      // From here on the client checks what comes against what was listed.
      await agent.client.listTools();
      for (const sample of OPERATION_SAMPLES[name] ?? []) {
        const defaults =
          name === 'market.variations' ? { detailLevel: 'full', perPage: 1000, ...sample } : sample;
        const answer = await agent.call(tool, argumentsOf(name, defaults));
        expect({ sample, isError: answer.isError, data: answer.data }).toMatchObject({ isError: false });
        const used = await unitsUsed(http);
        const reply = await overHttp(http, name, defaults);
        expect(reply.status).toBe(200);
        // Free ones have no claim to share.
        if (answer.data._call.jobId) {
          expect(reply.headers).toMatchObject({
            'x-deduplicated': 'true',
            'x-units-consumed': '0',
            'x-job-id': answer.data._call.jobId,
          });
        }
        expect(await unitsUsed(http)).toBe(used);
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

  test('a call the other way round joins too: HTTP first, then the tool', async () => {
    const http = await souk.client();
    const agent = await connectAgent(http);
    const sample = { domain: 1, asins: ['B0C3CDEF05'], detailLevel: 'summary' };
    const reply = await http.post('/api/market/product', sample);
    expect(reply.headers['x-units-consumed']).toBe('1');
    const { data } = await agent.call('market_get_product', { ...sample, asins: ['b0c3cdef05'] });
    expect(data._call).toEqual({
      unitsConsumed: 0,
      cache: 'HIT',
      deduplicated: true,
      jobId: reply.headers['x-job-id'],
    });
    expect(await unitsUsed(http)).toBe(1);
  });

  test('another account is given the cached answer, and pays', async () => {
    const args = { domain: 1, asins: ['B0C3CDEF06'] };
    await (await connectAgent(await souk.client())).call('market_get_product', args);
    const { data } = await (await connectAgent(await souk.client())).call('market_get_product', args);
    expect(data).toMatchObject({ fromCache: true, _call: { unitsConsumed: 1, cache: 'HIT' } });
  });

  test('variations come as summary, 50 a page, unless something else is asked for', async () => {
    const agent = await connectAgent(await souk.client());
    const args = { domain: 1, asin: 'B0C3CDEF01' };
    const { data } = await agent.call('market_get_variations', args);
    expect(data.responseShape).toEqual({ detailLevel: 'summary' });
    expect(data.variations.length).toBeLessThanOrEqual(50);
    const nulls = { ...args, detailLevel: null, perPage: null };
    const { data: same } = await agent.call('market_get_variations', nulls);
    expect(same).toMatchObject({ responseShape: { detailLevel: 'summary' }, _call: { unitsConsumed: 0 } });
    const asked = { ...args, detailLevel: 'summary', perPage: 5 };
    const { data: five } = await agent.call('market_get_variations', asked);
    expect(five).toMatchObject({ variations: { length: 5 }, _pagination: { perPage: 5 } });
  });

  test('a picture is shown', async () => {
    const agent = await connectAgent(await souk.client(), { toolsets: 'visuals' });
    const { content, data } = await agent.call('market_get_price_chart', { domain: 1, asin: 'B0C3CDEF01' });
    const image = content.find(({ type }) => type === 'image') as { data: string; mimeType: string };
    expect(image.mimeType).toBe('image/png');
    expect(Buffer.from(image.data, 'base64').subarray(1, 4).toString()).toBe('PNG');
    expect(data._call.unitsConsumed).toBe(1);
  });
});

describe('with an upstream that knows every product', () => {
  let souk: Souk;
  let http: Client;
  let agent: Agent;
  beforeAll(async () => {
    souk = await openSouk();
    souk.upstream.on('product', knowsEveryProduct);
  });
  afterAll(() => souk.close());

  describe.each(ERAS)('in the %s protocol', (era) => {
    test('tools are listed and called', async () => {
      http = await souk.client();
      agent = await connectAgent(http, { era });
      const { tools } = await agent.client.listTools();
      expect(tools.map(({ name }) => name)).toContain('market_get_product');
      const asin = newAsin();
      const { data } = await agent.call('market_get_product', { domain: 1, asins: [asin] });
      expect(data).toMatchObject({ count: 1, products: [{ asin }], _call: { unitsConsumed: 1 } });
    });

    test('a refusal is a result with code, message and what more is known', async () => {
      agent = await connectAgent(await souk.client({ plan: null }), { era });
      await agent.client.listTools();
      const refused = await agent.call('market_get_product', { domain: 1, asins: [newAsin()] });
      expect(refused).toMatchObject({
        isError: true,
        data: { error: { code: 'QUOTA_NO_SUBSCRIPTION', status: 429, message: expect.any(String) } },
      });
    });

    test('an unknown tool is an error that names it', async () => {
      agent = await connectAgent(await souk.client(), { era });
      await expect(agent.call('market_get_rich')).rejects.toThrow('There is no tool market_get_rich');
      // It is there, but not shown to this agent.
      await expect(agent.call('batches_list')).rejects.toThrow('There is no tool batches_list');
    });
  });

  test.each([
    [{}, ['domain', 'asins']],
    [{ domain: 7, asins: ['B000000001'] }, ['domain']],
    [{ domain: 1, asins: 'short' }, ['asins']],
    [{ domain: { a: 1 }, asins: [[['B000000001']]] }, ['domain', 'asins']],
    [{ domain: 1, asins: ['B000000001'], detailLevel: 'huge' }, ['detailLevel']],
    [{ domain: 1, asins: ['B000000001'], colour: 'red', size: 1 }, ['colour', 'size']],
    [{ domain: 1, asins: ['B000000001'], maxUnits: -1 }, ['maxUnits']],
    [{ domain: 1, country: 'de', asins: ['B000000001'] }, ['domain']],
  ])('bad arguments are named: %j', async (args, names) => {
    agent = await connectAgent(await souk.client());
    const { isError, data } = await agent.call('market_get_product', args);
    expect(isError).toBe(true);
    expect(data.error).toMatchObject({ code: 'VALIDATION_FAILED', status: 400 });
    const named = data.error.metadata.errors.map(({ parameter }: { parameter: string }) => parameter);
    expect(named).toEqual(names);
  });

  test.each([
    ['aba_get_word_detail', { wordId: '../../quota' }, 'wordId'],
    ['aba_get_word_detail', { wordId: '..' }, 'wordId'],
    ['aba_get_word_detail', {}, 'wordId'],
    ['jobs_get', { id: '?wait=1' }, 'id'],
    ['jobs_get', { id: { nested: true } }, 'id'],
    ['jobs_get', {}, 'id'],
  ])('an id is never an address: %s %j', async (tool, args, parameter) => {
    agent = await connectAgent(await souk.client());
    const { isError, data } = await agent.call(tool, args);
    expect(isError).toBe(true);
    expect(data.error.metadata.errors).toMatchObject([{ parameter }]);
  });

  test('null stands for what is not sent', async () => {
    agent = await connectAgent(await souk.client());
    const args = { domain: 1, asins: [newAsin()], days: null, maxUnits: null, dryRun: null };
    expect((await agent.call('market_get_product', args)).isError).toBe(false);
  });

  test.each([480, 2_000])('of %i faults the first are told', async (count) => {
    agent = await connectAgent(await souk.client());
    const selection = Object.fromEntries(Array.from({ length: count }, (_, i) => [`colour_${i}`, i]));
    const { isError, content, data } = await agent.call('market_find_products', { domain: 1, selection });
    expect(isError).toBe(true);
    expect(data.error).toMatchObject({
      code: '4000',
      status: 400,
      message: expect.stringMatching(/colour_0.*\.\.\.$/),
    });
    expect(JSON.stringify(content).length).toBeLessThan(8_000);
    // Of what the gateway does not read, it does not know the number.
    if (count < 1_000)
      expect(data.error.metadata).toMatchObject({ errors: { length: 10 }, errorCount: count });
  });

  test('a dry run tells the price and changes nothing', async () => {
    http = await souk.client();
    agent = await connectAgent(http, { toolsets: 'all' });
    await agent.client.listTools();
    const asins = [newAsin(), newAsin()];
    const { data } = await agent.call('market_get_product', { domain: 1, asins, dryRun: true });
    expect(data).toMatchObject({ dryRun: true, units: 2, admitted: true });
    expect(await unitsUsed(http)).toBe(0);
    const free = await agent.call('market_get_quota', { dryRun: true });
    expect(free.data).toMatchObject({ dryRun: true, units: 0 });
  });

  test('a call that is dearer than maxUnits is refused', async () => {
    http = await souk.client();
    agent = await connectAgent(http);
    const args = { domain: 1, asins: [newAsin(), newAsin()], maxUnits: 1 };
    const { isError, data } = await agent.call('market_get_product', args);
    expect(isError).toBe(true);
    expect(data.error).toMatchObject({ code: 'QUOTA_MAX_UNITS', metadata: { needed: 2, maxUnits: 1 } });
    expect(await unitsUsed(http)).toBe(0);
  });

  test('ids beyond 2^53 come and go digit by digit', async () => {
    souk.upstream.on('search', () => ({
      raw: '{"categories":{"9223372036854775807":{"catId":9223372036854775807,"name":"Blank"}}}',
    }));
    agent = await connectAgent(await souk.client());
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
