import type { Progress } from '@modelcontextprotocol/client';
import { describe, expect } from 'vitest';
import { addKey } from '../../../src/accounts/account-keys.ts';
import { changedSettings, WITHOUT_LIMITS } from '../../../src/accounts/key-settings.ts';
import { TOOLS } from '../../../src/api/mcp/tools.ts';
import { newAsin } from '../../support/answers.ts';
import { connectAgent, ERAS } from '../../support/mcp-client.ts';
import { testWithHeldProducts as test } from '../../support/souk-test.ts';
import { advanceUntil } from '../../support/time.ts';
import { unitsUsed } from '../../support/units.ts';

describe('tools_search', () => {
  test.for([
    ['best sellers of a category', 'market_get_best_sellers'],
    ['lightning deals', 'market_get_lightning_deals'],
    ['picture of the price history', 'market_get_price_chart'],
    ['weekly ranks of a search term', 'aba_get_word_history'],
    ['create a schedule', 'schedules_create'],
    ['alerts of trackers', 'trackers_alerts'],
    ['cancel a batch', 'batches_cancel'],
    ['UPC', 'market_get_product'],
  ] as const)(
    'finds "%s" as %s, with its price and its full input schema',
    async ([query, name], { client }) => {
      const agent = await connectAgent(client);
      const { data, isError } = await agent.call('tools_search', { query });
      expect(isError).toBe(false);
      const { listed, summary, price } = TOOLS.get(name) ?? {};
      expect(data.tools[0]).toMatchObject({ name, summary, units: price, inputSchema: listed?.inputSchema });
    },
  );

  test('states which tools change or delete', async ({ client }) => {
    const agent = await connectAgent(client);
    const effectOf = async (query: string) =>
      (await agent.call('tools_search', { query, limit: 1 })).data.tools[0];
    expect(await effectOf('create tracker')).toMatchObject({ name: 'trackers_create', effect: 'changes' });
    expect(await effectOf('delete tracker')).toMatchObject({ name: 'trackers_delete', effect: 'deletes' });
    expect(await effectOf('list trackers')).not.toHaveProperty('effect');
  });

  test('returns the names of all tools if no word matches', async ({ client }) => {
    const agent = await connectAgent(client);
    const { data } = await agent.call('tools_search', { query: 'xylophone 夏' });
    expect(data).toMatchObject({ tools: [], others: [...TOOLS.keys()] });
  });

  test.for([
    [{}, 'query'],
    [{ query: '' }, 'query'],
    [{ query: 'deals', limit: 6 }, 'limit'],
    [{ query: 'deals', limits: 1 }, 'did you mean limit'],
  ] as const)('refuses %j', async ([args, text], { client }) => {
    const { isError, data } = await (await connectAgent(client)).call('tools_search', args);
    expect([isError, data.error.code]).toEqual([true, 'VALIDATION_FAILED']);
    expect(data.error.message).toContain(text);
  });

  test('neither lists nor finds the tools that the key may not use', async ({ souk, account }) => {
    const now = souk.clock.now();
    const settings = changedSettings(WITHOUT_LIMITS, { scopes: ['sellers'] }, now);
    const { key } = await addKey(souk.database, account.accountId, { settings, createdBy: null, now });
    const agent = await connectAgent(souk.clientOf(key));
    const names = (await agent.client.listTools()).tools.map((tool) => tool.name);
    expect(names).toContain('market_get_seller');
    expect(names).not.toContain('market_get_product');
    const { data } = await agent.call('tools_search', { query: 'product variations', limit: 5 });
    const found = [...data.tools.map(({ name }: { name: string }) => name), ...data.others];
    expect(found.filter((name) => /product|variations|deals|trends/.test(name))).toEqual([]);
    const refused = await agent.call('tools_call', {
      name: 'market_get_variations',
      arguments: { asin: newAsin() },
    });
    expect(refused).toMatchObject({
      isError: true,
      data: { error: { code: 'KEY_SCOPE_MISSING', status: 403 } },
    });
  });
});

describe('tools_call', () => {
  test('costs what the tool costs, once together with a direct call', async ({ client, release }) => {
    release();
    const agent = await connectAgent(client);
    const args = { country: 'us', asins: [newAsin()] };
    const { data } = await agent.call('tools_call', { name: 'market_get_product', arguments: args });
    expect(data).toMatchObject({ count: 1, _call: { unitsConsumed: 1 } });
    const again = await agent.call('market_get_product', args);
    expect(again.data._call).toMatchObject({ unitsConsumed: 0, jobId: data._call.jobId });
    expect(await unitsUsed(client)).toBe(1);
  });

  test.for([
    [
      'beside the arguments',
      (options: object) => ({ arguments: { country: 'us', asins: [newAsin()] }, ...options }),
    ],
    [
      'among the arguments',
      (options: object) => ({ arguments: { country: 'us', asins: [newAsin()], ...options } }),
    ],
  ] as const)('applies dryRun and maxUnits %s', async ([_place, argumentsWith], { client }) => {
    const agent = await connectAgent(client);
    const call = (options: object) =>
      agent.call('tools_call', { name: 'market_get_product', ...argumentsWith(options) });
    expect((await call({ dryRun: true })).data).toMatchObject({ dryRun: true, units: 1 });
    expect(await call({ maxUnits: 0 })).toMatchObject({
      isError: true,
      data: { error: { code: 'QUOTA_MAX_UNITS' } },
    });
    expect(await unitsUsed(client)).toBe(0);
  });

  test.for([
    [{ name: 'market_get_products' }, 'did you mean market_get_product'],
    [{ name: 'tools_call' }, 'tools_search'],
    [{ name: 'no such thing' }, 'tools_search'],
    [{}, 'name'],
    [{ name: 'market_get_product', arguments: 'x' }, 'arguments'],
    [{ name: 'market_get_product', argments: {} }, 'did you mean arguments'],
    [
      { name: 'market_get_product', arguments: { country: 'us', asinz: ['B000000001'] } },
      'did you mean asins',
    ],
    [{ name: 'market_find_deals', arguments: { country: 'us', daterange: 1 } }, 'did you mean dateRange'],
  ] as const)('refuses %j in the form of all tools', async ([args, text], { client }) => {
    const { isError, data } = await (await connectAgent(client)).call('tools_call', args);
    expect([isError, data.error.code, data.error.status]).toEqual([true, 'VALIDATION_FAILED', 400]);
    expect(data.error.message).toContain(text);
  });

  test.for(ERAS)('reports progress in the %s protocol', async (era, { souk, client, release }) => {
    const agent = await connectAgent(client, { era });
    const updates: Progress[] = [];
    const calling = agent.call(
      'tools_call',
      { name: 'market_get_product', arguments: { country: 'us', asins: [newAsin()] } },
      { onprogress: (progress) => updates.push(progress) },
    );
    await advanceUntil(souk.clock, () => updates.length === 1, 100);
    release();
    expect((await calling).data).toMatchObject({ count: 1, _call: { unitsConsumed: 1 } });
  });
});
