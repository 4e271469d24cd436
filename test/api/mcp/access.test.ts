import { request } from 'undici';
import { describe, expect } from 'vitest';
import { createKey } from '../../../src/accounts/authentication.ts';
import { newAsin } from '../../support/answers.ts';
import type { Client } from '../../support/client.ts';
import { connectAgent } from '../../support/mcp-client.ts';
import { test } from '../../support/souk-test.ts';

test.override('soukOptions', {
  mcp: { toolsets: ['aba'], resultTokens: 10_000, allowedHosts: ['127.0.0.1', 'souk.example'] },
});

const ACCEPT = { accept: 'application/json, text/event-stream' };
const PING = { jsonrpc: '2.0', id: 1, method: 'ping' };
const post = (client: Client, body: unknown, headers: Record<string, string> = {}, query = '') =>
  client.raw(`/mcp${query}`, { method: 'POST', body, headers: { ...ACCEPT, ...headers } });

/** Sends headers that the test client would set itself. */
async function pingAs(client: Client, headers: Record<string, string>): Promise<number> {
  const { statusCode, body } = await request(`${client.baseUrl}/mcp`, {
    method: 'POST',
    headers: { ...ACCEPT, 'content-type': 'application/json', 'x-api-key': client.key, ...headers },
    body: JSON.stringify(PING),
  });
  await body.dump();
  return statusCode;
}

describe('a key', () => {
  const inHeader = (key: string) => ({ 'x-api-key': key });
  const asBearer = (key: string) => ({ authorization: `Bearer ${key}` });
  const inQuery = (key: string) => `?key=${key}`;

  test.for<[string, (key: string) => [headers: Record<string, string>, query?: string]]>([
    ['X-API-Key', (key) => [inHeader(key)]],
    ['Authorization', (key) => [asBearer(key)]],
    ['the query', (key) => [{}, inQuery(key)]],
    ['all three places', (key) => [{ ...inHeader(key), ...asBearer(key) }, inQuery(key)]],
  ])('is accepted in %s', async ([_place, sent], { client }) => {
    expect((await post(client, PING, ...sent(client.key))).status).toBe(200);
  });

  test.for([
    ['no key', {}],
    ['a malformed key', { 'x-api-key': 'km_short' }],
    ['an unknown key', { 'x-api-key': `km_${'0'.repeat(32)}` }],
    [
      'two different keys',
      { 'x-api-key': `km_${'0'.repeat(32)}`, authorization: `Bearer km_${'1'.repeat(32)}` },
    ],
  ] as const)('is required: returns 401 for %s', async ([_name, headers], { client }) => {
    for (const body of [PING, '{', { ...PING, method: 'initialize' }]) {
      const reply = await post(client, body, { 'content-type': 'application/json', ...headers } as Record<
        string,
        string
      >);
      expect(reply.status).toBe(401);
      expect(reply.json.code).toBe('4001');
    }
  });

  test('of a disabled account is refused', async ({ souk, client }) => {
    const { accountId, key } = await souk.account();
    await souk.database.query("update accounts set state = 'disabled' where id = $1", [accountId]);
    expect((await post(client, PING, { 'x-api-key': key })).json.code).toBe('4003');
  });

  test('pays for the calls of tools, in a header or in the query', async ({ souk, client }) => {
    const { accountId } = await souk.account();
    const key = await createKey(souk.database, accountId, souk.clock.now());
    const call = { name: 'market_get_product', arguments: { domain: 1, asins: [newAsin()] } };
    const body = { ...PING, method: 'tools/call', params: call };
    const reply = await post(client, body, { authorization: `bearer ${key}` }, '?toolsets=market');
    expect(reply.text).toContain('unitsConsumed');
    const { rows } = await souk.database.query('select account_id from calls where account_id = $1', [
      accountId,
    ]);
    expect(rows).toHaveLength(1);
  });
});

test('accepts up to 20 messages in one body', async ({ client }) => {
  const headers = { 'x-api-key': client.key };
  const pings = (count: number) => Array.from({ length: count }, (_, id) => ({ ...PING, id }));
  expect((await post(client, pings(20), headers)).status).toBe(200);
  const refused = await post(client, pings(21), headers);
  expect(refused).toMatchObject({ status: 400, json: { msg: expect.stringContaining('at most 20') } });
});

describe('host and origin', () => {
  test.for([
    [{ host: 'evil.example' }, 403],
    [{ host: 'evil.example:80' }, 403],
    [{ host: '127.0.0.1.evil.example' }, 403],
    [{ origin: 'https://evil.example' }, 403],
    [{ origin: 'null' }, 403],
    [{ origin: 'http://localhost' }, 403],
    [{ host: 'souk.example' }, 200],
    [{ host: 'souk.example:8443', origin: 'https://souk.example:8443' }, 200],
    [{ origin: 'http://127.0.0.1:5173' }, 200],
  ] as const)('%j returns %i', async ([headers, status], { client }) => {
    expect(await pingAs(client, headers as Record<string, string>)).toBe(status);
  });

  test('are checked before the body and the key', async ({ client }) => {
    const reply = await post(client, '{', {
      origin: 'https://evil.example',
      'content-type': 'application/json',
    });
    expect(reply.status).toBe(403);
    expect(JSON.parse(reply.text)).toMatchObject({ jsonrpc: '2.0', error: { message: expect.any(String) } });
  });
});

test.for(['GET', 'DELETE', 'PUT'])('%s returns 405: there are no sessions', async (method, { client }) => {
  const reply = await client.raw('/mcp', { method, headers: { 'x-api-key': client.key } });
  expect(reply.status).toBe(405);
  expect(reply.headers.allow).toBe('POST');
});

describe('a malformed request is refused', () => {
  const keyOf = (client: Client) => ({ 'x-api-key': client.key, 'content-type': 'application/json' });
  const deep = (depth: number) => `${'['.repeat(depth)}${']'.repeat(depth)}`;
  const calling = (args: string) =>
    `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"aba_search_keywords","arguments":${args}}}`;

  test.for([
    ['invalid JSON', '{', 400],
    ['a text', '"tools/list"', 400],
    ['null', 'null', 400],
    ['no protocol version', '{"id":1,"method":"ping"}', 400],
    ['an empty list', '[]', 400],
    ['an id beyond 2^53', '{"jsonrpc":"2.0","id":9223372036854775807,"method":"ping"}', 400],
    ['an unknown method', '{"jsonrpc":"2.0","id":1,"method":"magic"}', 200],
    ['a call without a name', '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{}}', 200],
    ['arguments that are a list', calling('[1]'), 200],
    ['arguments that are a text', calling('"us"'), 200],
    ['deeply nested arguments', calling(`{"country":"us","keyword":${deep(10_000)}}`), 400],
    ['a prototype', calling('{"constructor":{"prototype":1}}'), 400],
    ['a number beyond 2^53', calling('{"country":"us","keyword":"a","limit":9223372036854775807}'), 200],
    ['more than the limit', calling(`{"keyword":"${'x'.repeat(70_000)}"}`), 413],
  ] as const)('%s', async ([_name, body, status], { client }) => {
    const reply = await post(client, body, keyOf(client));
    expect({ status: reply.status, text: reply.text }).toMatchObject({ status });
    expect(reply.text).toMatch(/"error"|"isError":true|VALIDATION_FAILED|PAYLOAD_TOO_LARGE/);
    expect(reply.text).not.toMatch(/"5000"|node_modules|at file:/);
  });

  test('a form', async ({ client }) => {
    const reply = await post(client, 'a=b', {
      ...keyOf(client),
      'content-type': 'application/x-www-form-urlencoded',
    });
    expect(reply.status).toBe(415);
  });

  test('an Accept header without event streams', async ({ client }) => {
    const headers = { ...keyOf(client), accept: 'text/html' };
    expect((await client.raw('/mcp', { method: 'POST', body: PING, headers })).status).toBe(406);
  });
});

describe('toolsets', () => {
  test('come from the setting if a request names none', async ({ client }) => {
    const names = async (toolsets?: string) => {
      const agent = await connectAgent(client, toolsets ? { toolsets } : {});
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

  test('that do not exist are refused with a list of the existing toolsets', async ({ client }) => {
    const reply = await post(client, PING, { 'x-api-key': client.key }, '?toolsets=market,magic');
    expect(reply.status).toBe(400);
    expect(reply.json.metadata).toMatchObject({
      errors: [{ parameter: 'toolsets', problem: expect.stringContaining('schedules') }],
    });
  });
});

describe('a request with invalid parameters', () => {
  const requestsOf = (methods: readonly string[], contents: readonly { params?: object }[]) =>
    methods.flatMap((method) => contents.map((content) => ({ jsonrpc: '2.0', id: 1, method, ...content })));
  const bodies = [
    ...requestsOf(
      ['initialize', 'prompts/get', 'resources/read', 'tools/call'],
      [{}, { params: {} }, { params: { uri: 7, name: 7, protocolVersion: 7 } }],
    ),
    ...requestsOf(
      ['prompts/list', 'resources/list', 'resources/templates/list', 'tools/list'],
      [{ params: { cursor: [] } }, { params: { cursor: 7 } }],
    ),
  ];

  test.for(bodies)('is refused with a protocol error: %o', async (body, { client }) => {
    const { text } = await post(client, body, { 'x-api-key': client.key });
    expect(JSON.parse(text.replace(/^[\s\S]*?\{/, '{')).error).toMatchObject({ code: -32602 });
  });

  test('is refused alone in a list of requests', async ({ client }) => {
    const { text } = await post(client, [bodies[7], { ...PING, id: 2 }], { 'x-api-key': client.key });
    expect(text).toContain('-32602');
    expect(text).toMatch(/"result":\{\}.*"id":2|"id":2.*"result":\{\}/);
  });
});
