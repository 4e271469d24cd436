import { fastify } from 'fastify';
import { expect } from 'vitest';
import { createConnect } from '../../../src/api/connect/register.ts';
import { openDatabase } from '../../../src/platform/db/pool.ts';
import { createLogger } from '../../../src/platform/log.ts';
import { createSecretBox } from '../../../src/platform/secret-box.ts';
import { CONNECT_PAGES } from '../../../src/site/visitor/connect-pages.tsx';
import { signedIn } from '../../support/customer.ts';
import { ask, programOf } from '../../support/oauth-program.ts';
import { test } from '../../support/shared-souk-test.ts';

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

test('a request for a connection without any parameter is refused by a page', async ({ souk }) => {
  const { visitor } = await signedIn(souk);
  const page = await visitor.open('/oauth/authorize');
  expect([page.status, page.headers.location]).toEqual([400, undefined]);
  expect(page.text).toContain('client_id');
  expect(page.headers['x-frame-options']).toBe('DENY');
});

test('the token endpoint answers 503 while PostgreSQL cannot be reached', async () => {
  const app = fastify();
  const log = createLogger('silent');
  const database = openDatabase('postgresql://souk@127.0.0.1:1/souk', log);
  const connect = createConnect({
    database,
    clock: { now: () => 0 },
    log,
    secretBox: createSecretBox(),
    pages: CONNECT_PAGES,
    attempts: { countClient: async () => null, countAuthorization: async () => null },
    settings: { allowPrivate: false },
    publicUrl: undefined,
    limits: { openPages: { limit() {} } },
  });
  connect.register(app);
  const baseUrl = await app.listen({ host: '127.0.0.1', port: 0 });
  const answer = await programOf(baseUrl, 'souk-command').refresh('a'.repeat(43));
  await app.close();
  await database.end();
  expect([answer.status, answer.body.error, answer.headers['retry-after']]).toEqual([
    503,
    'temporarily_unavailable',
    '5',
  ]);
});
