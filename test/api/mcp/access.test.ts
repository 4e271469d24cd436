import { request } from 'undici';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createKey } from '../../../src/accounts/keys.ts';
import { knowsEveryProduct, newAsin } from '../../support/answers.ts';
import type { Client } from '../../support/client.ts';
import { connectAgent } from '../../support/mcp-client.ts';
import { openSouk, type Souk } from '../../support/souk.ts';

let souk: Souk;
let http: Client;
beforeAll(async () => {
  souk = await openSouk({
    mcp: { toolsets: ['aba'], resultTokens: 10_000, allowedHosts: ['127.0.0.1', 'souk.example'] },
  });
  souk.upstream.on('product', knowsEveryProduct);
  http = await souk.client();
});
afterAll(() => souk.close());

const ACCEPT = { accept: 'application/json, text/event-stream' };
const PING = { jsonrpc: '2.0', id: 1, method: 'ping' };
const post = (body: unknown, headers: Record<string, string> = {}, query = '') =>
  http.raw(`/mcp${query}`, { method: 'POST', body, headers: { ...ACCEPT, ...headers } });

/** With headers that a client of ours would set itself. */
async function pingAs(headers: Record<string, string>): Promise<number> {
  const { statusCode, body } = await request(`${http.baseUrl}/mcp`, {
    method: 'POST',
    headers: { ...ACCEPT, 'content-type': 'application/json', 'x-api-key': http.key, ...headers },
    body: JSON.stringify(PING),
  });
  await body.dump();
  return statusCode;
}

describe('the key', () => {
  test.each([
    ['X-API-Key', () => post(PING, { 'x-api-key': http.key })],
    ['Authorization', () => post(PING, { authorization: `Bearer ${http.key}` })],
    ['the query', () => post(PING, {}, `?key=${http.key}`)],
    [
      'all three',
      () => post(PING, { 'x-api-key': http.key, authorization: `Bearer ${http.key}` }, `?key=${http.key}`),
    ],
  ])('is taken from %s', async (_place, send) => {
    expect((await send()).status).toBe(200);
  });

  test.each([
    ['none', {}],
    ['a malformed one', { 'x-api-key': 'km_short' }],
    ['one that nobody has', { 'x-api-key': `km_${'0'.repeat(32)}` }],
    [
      'a second, different one',
      { 'x-api-key': `km_${'0'.repeat(32)}`, authorization: `Bearer km_${'1'.repeat(32)}` },
    ],
  ])('without which nothing is told: %s', async (_name, headers) => {
    for (const body of [PING, '{', { ...PING, method: 'initialize' }]) {
      const reply = await post(body, { 'content-type': 'application/json', ...headers } as Record<
        string,
        string
      >);
      expect(reply.status).toBe(401);
      expect(reply.json.code).toBe('4001');
    }
  });

  test('of a disabled account is refused', async () => {
    const { accountId, key } = await souk.account();
    await souk.database.query("update accounts set state = 'disabled' where id = $1", [accountId]);
    expect((await post(PING, { 'x-api-key': key })).json.code).toBe('4003');
  });

  test('is that of the calls that tools make, wherever it was sent', async () => {
    const { accountId } = await souk.account();
    const key = await createKey(souk.database, accountId, souk.clock.now());
    const call = { name: 'market_get_product', arguments: { domain: 1, asins: [newAsin()] } };
    const body = { ...PING, method: 'tools/call', params: call };
    const reply = await post(body, { authorization: `bearer ${key}` }, '?toolsets=market');
    expect(reply.text).toContain('unitsConsumed');
    const { rows } = await souk.database.query('select account_id from calls where account_id = $1', [
      accountId,
    ]);
    expect(rows).toHaveLength(1);
  });
});

test('messages come one by one, or a few at once', async () => {
  const headers = { 'x-api-key': http.key };
  const pings = (count: number) => Array.from({ length: count }, (_, id) => ({ ...PING, id }));
  expect((await post(pings(20), headers)).status).toBe(200);
  const refused = await post(pings(21), headers);
  expect(refused).toMatchObject({ status: 400, json: { msg: expect.stringContaining('at most 20') } });
});

describe('whoever speaks through a browser', () => {
  test.each([
    [{ host: 'evil.example' }, 403],
    [{ host: 'evil.example:80' }, 403],
    [{ host: '127.0.0.1.evil.example' }, 403],
    [{ origin: 'https://evil.example' }, 403],
    [{ origin: 'null' }, 403],
    [{ origin: 'http://localhost' }, 403],
    [{ host: 'souk.example' }, 200],
    [{ host: 'souk.example:8443', origin: 'https://souk.example:8443' }, 200],
    [{ origin: 'http://127.0.0.1:5173' }, 200],
  ])('%j: %i', async (headers, status) => {
    expect(await pingAs(headers as Record<string, string>)).toBe(status);
  });

  test('is refused before anything is read or a key is judged', async () => {
    const reply = await post('{', { origin: 'https://evil.example', 'content-type': 'application/json' });
    expect(reply.status).toBe(403);
    expect(JSON.parse(reply.text)).toMatchObject({ jsonrpc: '2.0', error: { message: expect.any(String) } });
  });
});

test.each(['GET', 'DELETE', 'PUT'])('%s is not taken: there are no sessions', async (method) => {
  const reply = await http.raw('/mcp', { method, headers: { 'x-api-key': http.key } });
  expect(reply.status).toBe(405);
  expect(reply.headers.allow).toBe('POST');
});

describe('what is not understood is refused, and harms nothing', () => {
  const key = () => ({ 'x-api-key': http.key, 'content-type': 'application/json' });
  const deep = (depth: number) => `${'['.repeat(depth)}${']'.repeat(depth)}`;
  const calling = (args: string) =>
    `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"aba_search_keywords","arguments":${args}}}`;

  test.each([
    ['no JSON', '{', 400],
    ['a text', '"tools/list"', 400],
    ['null', 'null', 400],
    ['no version', '{"id":1,"method":"ping"}', 400],
    ['a list of nothing', '[]', 400],
    ['an id beyond 2^53', '{"jsonrpc":"2.0","id":9223372036854775807,"method":"ping"}', 400],
    ['an unknown method', '{"jsonrpc":"2.0","id":1,"method":"magic"}', 200],
    ['a call without a name', '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{}}', 200],
    ['arguments that are a list', calling('[1]'), 200],
    ['arguments that are a text', calling('"us"'), 200],
    ['arguments within arguments', calling(`{"country":"us","keyword":${deep(10_000)}}`), 200],
    ['a prototype', calling('{"constructor":{"prototype":1}}'), 400],
    ['a number beyond 2^53', calling('{"country":"us","keyword":"a","limit":9223372036854775807}'), 200],
    ['more than the limit', calling(`{"keyword":"${'x'.repeat(70_000)}"}`), 413],
  ])('%s', async (_name, body, status) => {
    const reply = await post(body, key());
    expect({ status: reply.status, text: reply.text }).toMatchObject({ status });
    expect(reply.text).toMatch(/"error"|"isError":true|VALIDATION_FAILED|PAYLOAD_TOO_LARGE/);
    expect(reply.text).not.toMatch(/"5000"|node_modules|at file:/);
  });

  test('another kind of body', async () => {
    const reply = await post('a=b', { ...key(), 'content-type': 'application/x-www-form-urlencoded' });
    expect(reply.status).toBe(415);
  });

  test('a client that takes no stream', async () => {
    const headers = { ...key(), accept: 'text/html' };
    expect((await http.raw('/mcp', { method: 'POST', body: PING, headers })).status).toBe(406);
  });
});

describe('toolsets', () => {
  test('are those of the setting, unless a request asks for others', async () => {
    const names = async (toolsets?: string) => {
      const agent = await connectAgent(http, toolsets ? { toolsets } : {});
      return (await agent.client.listTools()).tools.map(({ name }) => name);
    };
    expect(await names()).toContain('aba_get_rank_list');
    expect(await names()).not.toContain('market_get_product');
    expect(await names('market,trends')).toEqual(
      expect.arrayContaining([
        'market_find_deals',
        'web_trends_daily_trends',
        'market_get_quota',
        'jobs_get',
      ]),
    );
    expect(await names('all')).toEqual(expect.arrayContaining(['schedules_run', 'batches_create']));
  });

  test('that there are not are refused with those there are', async () => {
    const reply = await post(PING, { 'x-api-key': http.key }, '?toolsets=market,magic');
    expect(reply.status).toBe(400);
    expect(reply.json.metadata).toMatchObject({
      errors: [{ parameter: 'toolsets', problem: expect.stringContaining('schedules') }],
    });
  });
});

describe('a request with unfit parameters', () => {
  const bodies = ['initialize', 'resources/read', 'tools/call'].flatMap((method) =>
    [{}, { params: {} }, { params: { uri: 7, name: 7, protocolVersion: 7 } }].map((rest) => ({
      jsonrpc: '2.0',
      id: 1,
      method,
      ...rest,
    })),
  );

  test.each(bodies)('is refused as the protocol has it: %o', async (body) => {
    const { text } = await post(body, { 'x-api-key': http.key });
    expect(JSON.parse(text.replace(/^[\s\S]*?\{/, '{')).error).toMatchObject({ code: -32602 });
  });

  test('is refused alone in a list of requests', async () => {
    const { text } = await post([bodies[4], { ...PING, id: 2 }], { 'x-api-key': http.key });
    expect(text).toContain('-32602');
    expect(text).toMatch(/"result":\{\}.*"id":2|"id":2.*"result":\{\}/);
  });
});
