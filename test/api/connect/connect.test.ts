import { expect } from 'vitest';
import { signedIn } from '../../support/customer.ts';
import { ask, registerProgram } from '../../support/oauth-program.ts';
import { test } from '../../support/souk-test.ts';

test('a program that knows only the address of the tools finds where to sign in', async ({ souk }) => {
  const { baseUrl } = souk.clientOf('');
  const refused = await ask(`${baseUrl}/mcp`, { jsonrpc: '2.0', id: 1, method: 'tools/list' });
  expect(refused.status).toBe(401);
  const challenge = String(refused.headers['www-authenticate']);
  const [, address = ''] = /resource_metadata="([^"]+)"/.exec(challenge) ?? [];
  expect(address).toBe(`${baseUrl}/.well-known/oauth-protected-resource/mcp`);
  const { body: resource } = await ask(address);
  expect(resource).toMatchObject({ resource: `${baseUrl}/mcp`, authorization_servers: [baseUrl] });
  const { body: server } = await ask(`${baseUrl}/.well-known/oauth-authorization-server`);
  expect(server).toMatchObject({
    issuer: baseUrl,
    code_challenge_methods_supported: ['S256'],
    authorization_response_iss_parameter_supported: true,
    client_id_metadata_document_supported: true,
  });
});

test('a program that a person has allowed makes calls', async ({ souk }) => {
  const { baseUrl } = souk.clientOf('');
  const { visitor, accountId } = await signedIn(souk);
  const program = await registerProgram(baseUrl);
  const tokens = await program.connect(visitor, { account: String(accountId) });
  const answer = await ask(`${baseUrl}/api/quota`, undefined, {
    authorization: `Bearer ${tokens.access_token}`,
  });
  expect([answer.status, answer.body.code]).toEqual([200, '0000']);
});
