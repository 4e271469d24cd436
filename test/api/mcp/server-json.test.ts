import { readFileSync } from 'node:fs';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { expect } from 'vitest';
import { newClient } from '../../support/mcp-client.ts';
import { serverJson, variablesIn } from '../../support/registry-schema.ts';
import { test } from '../../support/shared-souk-test.ts';

const read = (path: string) => JSON.parse(readFileSync(path, 'utf8'));
const described = read('server.json');

test('server.json follows the rules of the MCP registry', () => {
  expect(serverJson.safeParse(described).error).toBeUndefined();
});

test.for<[string, object]>([
  ['a name without a namespace', { name: 'souk' }],
  ['a description of more than 100 characters', { description: 'a'.repeat(101) }],
  ['a range of versions', { version: '^1.0.0' }],
  ['no address', { remotes: [] }],
  ['an address that is only a variable', { url: '{url}/mcp' }],
  ['an address without TLS', { url: 'http://{host}/mcp' }],
  ['an address of this machine', { url: 'https://localhost/mcp' }],
  ['an unknown variable', { url: 'https://{name}/mcp' }],
  ['a misspelt field', { headers: [{ name: 'X-API-Key', required: true }] }],
])('the rules refuse %s', ([, change]) => {
  const [remote] = described.remotes;
  const changed = 'url' in change || 'headers' in change ? { remotes: [{ ...remote, ...change }] } : change;
  expect(serverJson.safeParse({ ...described, ...changed }).success).toBe(false);
});

test('server.json has the version of package.json', () => {
  expect(described.version).toBe(read('package.json').version);
});

test('an agent that replaces the variables of server.json connects', async ({ client: { baseUrl, key } }) => {
  const [{ url, headers, variables }] = described.remotes;
  expect(variablesIn(url)).toEqual(Object.keys(variables));
  const { host, protocol } = new URL(baseUrl);
  const address = new URL(url.replace('{host}', host));
  // The service of a test has no TLS.
  address.protocol = protocol;
  const secrets = Object.fromEntries(headers.map(({ name }: { name: string }) => [name, key]));
  const agent = newClient();
  await agent.connect(new StreamableHTTPClientTransport(address, { requestInit: { headers: secrets } }));
  expect(agent.getServerVersion()).toMatchObject({ name: 'souk', version: described.version });
  await agent.close();
});
