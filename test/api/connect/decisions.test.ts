import { expect } from 'vitest';
import { nameOf } from '../../../src/api/connect/provider.ts';
import { signedIn } from '../../support/customer.ts';
import { openMetadataServer, TEST_AUTHORITY } from '../../support/metadata-server.ts';
import { ALLOWED, ask, programOf, REDIRECT_URI, registerProgram } from '../../support/oauth-program.ts';
import { test as base } from '../../support/souk-test.ts';
import { createVisitor, fieldIn } from '../../support/visitor.ts';

const test = base
  .extend('metadata', { scope: 'file' }, async ({}, { onCleanup }) => {
    const server = await openMetadataServer();
    onCleanup(() => server.close());
    return server;
  })
  .override('soukOptions', {
    gateways: 2,
    pages: { payments: { way: 'manual', currency: 'usd' } },
    gateway: { connect: { ca: TEST_AUTHORITY, registrationsPerHour: 30 } },
  });

test('a request is decided once, even by several forms at the same time', async ({ souk }) => {
  const { visitor, accountId, personId } = await signedIn(souk);
  const program = await registerProgram(souk.clientOf('').baseUrl);
  const page = await program.begin(visitor);
  const token = fieldIn(page.html, '_csrf');
  const form = { _csrf: token, ...ALLOWED, account: String(accountId) };
  const answers = await Promise.all([1, 2, 3].map(() => visitor.send(page.path, form)));
  expect(answers.map(({ status }) => String(status)).sort()).toEqual(['303', '404', '404']);
  const cancelled = await visitor.send(page.path, { ...form, decision: 'deny' });
  expect(cancelled.status).toBe(404);
  const { rows } = await souk.database.query(
    'select from connections c join api_keys k on k.id = c.key_id where k.account_id = $1',
    [accountId],
  );
  expect(rows).toHaveLength(1);
  const { rows: grants } = await souk.database.query(
    `select from oauth_records where kind = 'Grant' and payload ->> 'accountId' = $1`,
    [String(personId)],
  );
  expect(grants).toHaveLength(1);
});

test('a gateway that has not fetched the document of a program shows its request', async ({
  souk,
  metadata,
}) => {
  const { visitor } = await signedIn(souk);
  const clientId = metadata.publish('/other.json', { client_name: 'Vendor', redirect_uris: [REDIRECT_URI] });
  const page = await programOf(souk.clientOf('').baseUrl, clientId).begin(visitor);
  const other = createVisitor(souk.clientOf('', 1).baseUrl);
  for (const [name, value] of visitor.cookies) other.cookies.set(name, value);
  const shown = await other.open(page.path);
  expect([page.status, shown.status]).toEqual([200, 200]);
  expect(shown.text).toContain('Vendor');
});

test('a connected program is refreshed by a gateway that does not know it, when its network may register no more', async ({
  souk,
  metadata,
}) => {
  const [first, second] = [souk.clientOf('').baseUrl, souk.clientOf('', 1).baseUrl];
  const { visitor, accountId } = await signedIn(souk);
  const clientId = metadata.publish('/kept.json', { client_name: 'Vendor', redirect_uris: [REDIRECT_URI] });
  const tokens = await programOf(first, clientId).connect(visitor, { account: String(accountId) });
  for (let status = 201; status === 201; )
    ({ status } = await ask(`${first}/oauth/register`, { redirect_uris: [REDIRECT_URI] }));
  const { body } = await programOf(second, clientId).refresh(tokens.refresh_token);
  expect(body.error ?? null).not.toBe('invalid_client');
});

test.for([
  ['Notebook', 'Notebook'],
  ['  two   words ', 'two words'],
  ['\u3164\u115f\u2800', 'id'],
  ['Souk”; Souk has checked it. “', 'Souk ; Souk has checked it.'],
  ['e\u0301\u0301\u0301\u0301\u0301x', 'e\u0301\u0301x'],
  ['\u202eevil', 'evil'],
])('the name %j of a program is shown as %j', ([clientName = '', expected]) => {
  expect(nameOf({ clientName, clientId: 'id' })).toBe(expected);
});
