import { spawn } from 'node:child_process';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { describe, expect, inject, onTestFinished } from 'vitest';
import { knowsEveryProduct, newAsin } from '../support/answers.ts';
import { type Agent, agentOf, ERAS, type McpOptions, newClient } from '../support/mcp-client.ts';
import { test } from '../support/shared-souk-test.ts';
import type { Souk } from '../support/souk.ts';
import { soukCommand } from '../support/souk-command.ts';
import { unitsUsed } from '../support/units.ts';

const COMMAND = join(inject('programs'), 'src/cli.js');

let souk: Souk;
test.beforeAll(async ({ souk: opened }) => {
  souk = opened;
  souk.upstream.on('product', knowsEveryProduct);
});

/** An agent whose host has started the command, as hosts do. */
async function agentOver(
  { baseUrl, key }: { baseUrl: string; key: string },
  { era, toolsets }: McpOptions = {},
): Promise<Agent> {
  const { PATH = '', HOME = '' } = process.env;
  const client = newClient(era);
  const transport = new StdioClientTransport({
    command: process.execPath,
    args: [COMMAND, 'mcp', ...(toolsets ? ['--toolsets', toolsets] : [])],
    env: { PATH, HOME, SOUK_URL: baseUrl, SOUK_API_KEY: key },
    stderr: 'pipe',
  });
  await client.connect(transport);
  onTestFinished(() => client.close());
  return agentOf(client);
}

describe.each(ERAS)('over stdin and stdout, in the %s protocol', (era) => {
  test('lists the tools of the gateway, and shares its deduplication and charges', async () => {
    const http = await souk.client();
    const agent = await agentOver(http, { era });
    const { tools } = await agent.client.listTools();
    expect(tools.map(({ name }) => name)).toContain('market_get_product');
    const asin = newAsin();
    const received: unknown[] = [];
    const args = { domain: 1, asins: [asin], detailLevel: 'summary' };
    const { data } = await agent.call('market_get_product', args, {
      onprogress: (progress) => received.push(progress),
    });
    expect(data).toMatchObject({ products: [{ asin }], _call: { unitsConsumed: 1 } });
    const reply = await http.post('/api/market/product', args);
    expect(reply.headers).toMatchObject({ 'x-deduplicated': 'true', 'x-units-consumed': '0' });
    expect(await unitsUsed(http)).toBe(1);
    const { contents } = await agent.client.readResource({ uri: `souk://jobs/${data._call.jobId}/result` });
    expect(contents[0]).toMatchObject({ text: expect.stringContaining(asin) });
  });
});

test('lists only the tools of the toolsets that --toolsets names', async () => {
  const agent = await agentOver(await souk.client(), { toolsets: 'deals' });
  const { tools } = await agent.client.listTools();
  const names = tools.map(({ name }) => name);
  expect(names).toContain('market_find_deals');
  expect(names).not.toContain('market_get_product');
});

test('reports an unknown key to the agent', async () => {
  const { baseUrl } = await souk.client();
  await expect(agentOver({ baseUrl, key: `km_${'0'.repeat(32)}` })).rejects.toThrow(
    /answered 401: This API key does not exist/,
  );
});

test('reports an unreachable gateway to the agent', async () => {
  const { key } = await souk.account();
  await expect(agentOver({ baseUrl: 'http://127.0.0.1:9', key })).rejects.toThrow(/cannot be reached/);
});

/** A gateway that starts to stream each answer, with the state of the streams. */
async function streamingGateway() {
  const streams: ServerResponse[] = [];
  const server = createServer((_, response) => {
    streams.push(response);
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.write(': begun\n\n');
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}`, streams };
}

/** Starts the command, and collects its output. */
function startBridge(url: string) {
  const { PATH = '', HOME = '' } = process.env;
  const child = spawn(process.execPath, [COMMAND, 'mcp'], {
    env: { PATH, HOME, SOUK_URL: url, SOUK_API_KEY: `km_${'0'.repeat(32)}` },
  });
  onTestFinished(() => void child.kill());
  const said = { stdout: '', stderr: '' };
  for (const stream of ['stdout', 'stderr'] as const) {
    child[stream].setEncoding('utf8').on('data', (text: string) => {
      said[stream] += text;
    });
  }
  const ended = new Promise<number | null>((done) => child.once('close', done));
  const ask = (id: number) =>
    child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', id, method: 'ping' })}\n`);
  return { child, said, ended, ask };
}

test.each(['end', 'destroy'] as const)(
  'answers with an error if the gateway breaks off its response: %s',
  async (how) => {
    const { url, streams } = await streamingGateway();
    const { said, ask } = startBridge(url);
    ask(7);
    await expect.poll(() => streams.length, { timeout: 20_000 }).toBe(1);
    streams[0]?.[how]();
    await expect.poll(() => said.stdout).toContain('\n');
    expect(JSON.parse(said.stdout)).toMatchObject({
      id: 7,
      error: { code: -32_603, message: `Souk at ${url} closed the connection` },
    });
  },
);

test('ends with 0 and without output if the host closes stdin during a call', async () => {
  const { url, streams } = await streamingGateway();
  const { child, said, ended, ask } = startBridge(url);
  ask(1);
  await expect.poll(() => streams.length, { timeout: 20_000 }).toBe(1);
  child.stdin.end();
  expect(await ended).toBe(0);
  expect(said).toEqual({ stdout: '', stderr: '' });
});

test('ends with 1 and a message if the host closes stdout', async () => {
  const { url, streams } = await streamingGateway();
  const { child, said, ended, ask } = startBridge(url);
  ask(1);
  await expect.poll(() => streams.length, { timeout: 20_000 }).toBe(1);
  child.stdout.destroy();
  streams[0]?.end('data: {"jsonrpc":"2.0","id":1,"result":{}}\n\n');
  expect(await ended).toBe(1);
  expect(said.stderr).toMatch(/^stdin or stdout: .*EPIPE\n$/);
});

test.each([
  [{ SOUK_API_KEY: `km_${'0'.repeat(32)}` }, 'SOUK_URL'],
  [{ SOUK_URL: 'http://127.0.0.1:3000' }, 'SOUK_API_KEY'],
  [{ SOUK_URL: 'localhost', SOUK_API_KEY: `km_${'0'.repeat(32)}` }, 'SOUK_URL'],
])('ends with 1 and names the setting if one is missing or invalid: %j', async (settings, name) => {
  const { code, stdout, stderr } = await soukCommand(settings as Record<string, string>).run('mcp');
  expect(code).toBe(1);
  expect(stdout).toBe('');
  expect(stderr).toMatch(new RegExp(`^Bad setting: ${name} must be `));
});
