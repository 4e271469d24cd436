import { describe, expect } from 'vitest';
import { addKey, isKeyDue, listKeys, resetKey } from '../../../src/accounts/account-keys.ts';
import { type Scope, WITHOUT_LIMITS } from '../../../src/accounts/key-settings.ts';
import { accountLines } from '../../../src/operator/account-audit.ts';
import {
  ERASURE_DELAY_MS,
  eraseDueAccounts,
  erasePerson,
  requestErasure,
} from '../../../src/operator/personal-data/erasure.ts';
import { exportAccount, exportPerson } from '../../../src/operator/personal-data/export-account.ts';
import { queueDueNotices } from '../../../src/outbox/mail/due-notices.ts';
import { mailText } from '../../../src/outbox/mail/mails.ts';
import { inTransaction } from '../../../src/platform/db/transaction.ts';
import { DAY_MS } from '../../../src/platform/durations.ts';
import { createSecretBox } from '../../../src/platform/secret-box.ts';
import { type Customer, expectPage, memberOf, PAGES, signedIn, staffOf } from '../../support/customer.ts';
import { ask, type Program, registerProgram, type Tokens } from '../../support/oauth-program.ts';
import type { Souk } from '../../support/souk.ts';
import { test } from '../../support/souk-test.ts';
import type { Visitor } from '../../support/visitor.ts';

test.override('soukOptions', {
  pages: PAGES,
  operator: { adminToken: 'only-for-the-operator' },
  mail: { from: '', publicUrl: 'http://souk.test', transport: 'console' },
});

interface Connected extends Customer {
  program: Program;
  tokens: Tokens;
  /** The path of the page of the connection. */
  path: string;
  keyId: number;
}

/** A customer who has connected a program. */
async function connected(souk: Souk, fields: Record<string, string> = {}): Promise<Connected> {
  const customer = await signedIn(souk);
  return { ...customer, ...(await connect(souk, customer.visitor, customer.accountId, fields)) };
}

async function connect(
  souk: Souk,
  visitor: Visitor,
  accountId: number,
  fields: Record<string, string> = {},
): Promise<Pick<Connected, 'program' | 'tokens' | 'path' | 'keyId'>> {
  const program = await registerProgram(souk.clientOf('').baseUrl);
  const tokens = await program.connect(visitor, { account: String(accountId), ...fields });
  const { rows } = await souk.database.query<{ id: number }>(
    'select max(key_id) as id from connections c join api_keys k on k.id = c.key_id where k.account_id = $1',
    [accountId],
  );
  const keyId = rows[0]?.id ?? 0;
  // The next page shows the account.
  await visitor.get('/account/keys');
  return { program, tokens, keyId, path: `/account/keys/${keyId}` };
}

/** @returns the status of a request with the access token. */
async function statusOf(souk: Souk, { access_token: token }: Tokens): Promise<number> {
  const headers = { authorization: `Bearer ${token}` };
  return (await ask(`${souk.clientOf('').baseUrl}/api/quota`, undefined, headers)).status;
}

/** A client with a key that manages keys. */
async function keeper(souk: Souk, accountId: number, scopes: Scope[] = ['read', 'products', 'keys']) {
  const settings = { ...WITHOUT_LIMITS, scopes };
  const { key } = await addKey(souk.database, accountId, {
    settings,
    createdBy: null,
    now: souk.clock.now(),
  });
  return souk.clientOf(key);
}

async function actions(souk: Souk, accountId: number): Promise<string[]> {
  const lines = await accountLines(souk.database, accountId, {}, { limit: 100 });
  return lines.map(({ action, actor, target }) => `${action} ${actor.replace(/@.*/, '')} ${target}`);
}

async function textOf(pieces: AsyncIterable<string>): Promise<string> {
  let text = '';
  for await (const piece of pieces) text += piece;
  return text;
}

describe('the page of keys', () => {
  test('lists connections below the keys, with what they may do and have used', async ({ souk }) => {
    const { visitor, tokens, keyId } = await connected(souk, {
      capDay: '5',
      capMonth: '50',
      automation: '1',
    });
    const headers = { authorization: `Bearer ${tokens.access_token}` };
    const { baseUrl } = souk.clientOf('');
    await ask(`${baseUrl}/api/market/product?domain=1&asins=B000000001`, undefined, headers);
    const { text, html } = await visitor.get('/account/keys');
    const [keys = '', connections = ''] = text.split(' Connections Programs ');
    expect(keys).not.toContain('Notebook');
    expect(connections).toContain('Notebook 127.0.0.1, connected by ');
    expect(connections).toContain(
      'read data; look up data; create batches, schedules and trackers 1 of 5 today 1 of 50 this month',
    );
    const { rows } = await souk.database.query<{ prefix: string }>(
      'select prefix from api_keys where id = $1',
      [keyId],
    );
    expect(rows[0]?.prefix).toMatch(/^km_/);
    for (const page of [html, (await visitor.get(`/account/keys/${keyId}`)).html])
      expect(page).not.toContain(rows[0]?.prefix);
  });

  test('says that there are none', async ({ souk }) => {
    const { visitor } = await signedIn(souk);
    expect((await visitor.get('/account/keys')).text).toContain('No programs are connected.');
  });

  test('an account that has only a connection can still create its first key', async ({ souk }) => {
    const { accountId, visitor } = await signedIn(souk);
    await souk.database.query('delete from api_keys where account_id = $1', [accountId]);
    await connect(souk, visitor, accountId);
    expect(await isKeyDue(souk.database, accountId)).toBe(true);
    expect((await visitor.post('/account/keys/new', { name: 'x' })).status).toBe(404);
    expect((await visitor.get('/account/keys')).text).toContain('Your key is ready');
  });
});

describe('the page of a connection', () => {
  test('shows its facts, and changes its limits', async ({ souk }) => {
    const { visitor, path, keyId, accountId, tokens } = await connected(souk);
    const page = await visitor.get(path);
    expect(page.text).toContain('Program Notebook, as it calls itself Returned to 127.0.0.1 State Active');
    expect(page.html).not.toContain('name="scope_keys"');
    const fields = { name: 'Notebook', scope_deals: '1', capDay: '3', capMonth: '30' };
    const expiresAt = new Date(souk.clock.now() + 366 * DAY_MS - 1).toISOString();
    const changed = await visitor.post(path, { ...fields, expiresAt });
    expect(changed.text).toContain('The connection has been changed.');
    expect(changed.text).toContain(
      'May read data; look up deals Units today 0 of 3 Units this month 0 of 30',
    );
    const [found] = (await listKeys(souk.database, accountId, souk.clock.now())).filter(
      ({ id }) => id === keyId,
    );
    expect(found).toMatchObject({ scopes: ['read', 'deals'], capDay: 3, expiresAt: new Date(expiresAt) });
    expect(await statusOf(souk, tokens)).toBe(200);
    expect((await actions(souk, accountId))[0]).toMatch(`connection.changed`);
  });

  test.for([
    [{ expiresAt: '' }, 'must be at most 366 days after the connection was created'],
    [{ capDay: '' }, 'must not be null for a connection'],
    [{ capMonth: '' }, 'must not be null for a connection'],
    [{ capDay: '31' }, 'must not be more than the 30 units of a month, got 31'],
    [{ scope_keys: '1' }, 'must not have keys'],
  ] as const)('refuses %j at the field, and keeps the other values', async ([fields, fault], { souk }) => {
    const { visitor, path, accountId, keyId } = await connected(souk);
    const expiresAt = new Date(souk.clock.now() + DAY_MS).toISOString();
    const given = { name: 'Other', capDay: '3', capMonth: '30', expiresAt, ...fields };
    const answer = await visitor.post(path, given);
    expectPage(answer, 400, fault);
    expect(answer.html).toContain('value="Other"');
    const keys = await listKeys(souk.database, accountId, souk.clock.now());
    expect(keys.find(({ id }) => id === keyId)).toMatchObject({ name: 'Notebook', capDay: 100 });
  });

  test('keeps the registration of its program until after its new end', async ({ souk }) => {
    const { visitor, path, program } = await connected(souk);
    const expiresAt = new Date(souk.clock.now() + 300 * DAY_MS);
    await visitor.post(path, { name: '', capDay: '3', capMonth: '30', expiresAt: expiresAt.toISOString() });
    const { rows } = await souk.database.query<{ kept: Date }>(
      "select expires_at as kept from oauth_records where kind = 'Client' and payload ->> 'client_id' = $1",
      [program.clientId],
    );
    expect(rows[0]?.kept).toEqual(new Date(expiresAt.getTime() + 30 * DAY_MS));
  });
});

describe('a revoked connection', () => {
  test('is refused immediately, and cannot be refreshed', async ({ souk }) => {
    const { visitor, tokens, program, keyId, accountId } = await connected(souk);
    expect(await statusOf(souk, tokens)).toBe(200);
    const list = await visitor.post('/account/keys/revoke', { id: String(keyId) });
    expect(list.text).toMatch(/Notebook 127\.0\.0\.1, connected by \S+ Revoked/);
    expect(await statusOf(souk, tokens)).toBe(401);
    expect((await program.refresh(tokens.refresh_token)).status).toBe(400);
    expect((await actions(souk, accountId))[0]).toMatch(new RegExp(`^connection.revoked .* ${keyId}$`));
  });

  test('is revoked by a developer only if it is their own', async ({ souk }) => {
    const { accountId, keyId, visitor } = await connected(souk);
    const developer = await memberOf(souk, accountId, 'developer');
    const own = await connect(souk, developer.visitor, accountId);
    const refused = await developer.visitor.post('/account/keys/revoke', { id: String(keyId) });
    expectPage(refused, 403, 'you can change only the keys');
    expect((await developer.visitor.post(`/account/keys/${keyId}`, { capDay: '1' })).status).toBe(403);
    expect((await developer.visitor.get('/account/keys')).html.match(/>Revoke</g)).toHaveLength(1);
    const viewer = await memberOf(souk, accountId, 'viewer');
    await viewer.visitor.get('/account/keys');
    expect((await viewer.visitor.post('/account/keys/revoke', { id: String(keyId) })).status).toBe(403);
    await developer.visitor.post('/account/keys/revoke', { id: String(own.keyId) });
    await visitor.post('/account/keys/revoke', { id: String(keyId) });
    expect([await statusOf(souk, own.tokens)]).toEqual([401]);
  });

  test('is the one of a removed member, even if the keys are kept', async ({ souk }) => {
    const { accountId, visitor } = await signedIn(souk);
    for (const fields of [{}, { keys: 'on' }]) {
      const member = await memberOf(souk, accountId, 'developer');
      const { tokens } = await connect(souk, member.visitor, accountId);
      await visitor.get('/account/team');
      await visitor.post('/account/team/remove', { person: String(member.personId), ...fields });
      expect(await statusOf(souk, tokens)).toBe(401);
    }
  });
});

test('a reset of the keys does not end connections', async ({ souk }) => {
  const { accountId, tokens, visitor, keyId } = await connected(souk);
  expect((await visitor.get('/account/keys')).text).toContain(
    'Connections are not affected: revoke each of them separately.',
  );
  await resetKey(souk.database, accountId, souk.clock.now());
  const keys = await listKeys(souk.database, accountId, souk.clock.now());
  expect(keys.map(({ state, connection }) => [state, connection?.clientName])).toEqual([
    ['rotated', undefined],
    ['active', 'Notebook'],
    ['active', undefined],
  ]);
  expect(keys.find(({ id }) => id === keyId)?.expiresAt?.getTime()).toBe(souk.clock.now() + 30 * DAY_MS);
  expect(await statusOf(souk, tokens)).toBe(200);
});

describe('the API', () => {
  test('has connections among the keys, changes them within their bounds, and revokes them', async ({
    souk,
  }) => {
    const { accountId, keyId, tokens } = await connected(souk);
    const client = await keeper(souk, accountId);
    const patch = (body: object) => client.get(`/api/keys/${keyId}`, { method: 'PATCH', body });
    const { json } = await client.get('/api/keys');
    const views = json.data.keys.map(({ id, connection }: { id: number; connection: unknown }) => [
      id === keyId,
      connection,
    ]);
    expect(views).toEqual([
      [false, null],
      [true, { clientName: 'Notebook', host: '127.0.0.1:33418' }],
      [false, null],
    ]);
    for (const [body, parameter] of [
      [{ scopes: null }, 'scopes'],
      [{ scopes: ['read', 'keys'], capDay: null, capMonth: null }, 'scopes'],
      [{ scopes: ['read'], capDay: null }, 'capDay'],
      [{ scopes: ['read'], expiresAt: null }, 'expiresAt'],
      [{ scopes: ['read'], expiresAt: new Date(souk.clock.now() + 367 * DAY_MS).toISOString() }, 'expiresAt'],
    ] as const) {
      const answer = await patch(body);
      expect([answer.status, JSON.stringify(answer.json)]).toEqual([
        parameter === 'scopes' && body.scopes === null ? 403 : 400,
        expect.stringContaining(parameter),
      ]);
    }
    const changed = await patch({ scopes: ['read', 'products'], capDay: 2 });
    expect(changed.json.data).toMatchObject({ scopes: ['read', 'products'], capDay: 2 });
    expect((await client.get(`/api/keys/${keyId}`, { method: 'DELETE' })).json.data.state).toBe('revoked');
    expect(await statusOf(souk, tokens)).toBe(401);
    expect((await actions(souk, accountId)).map((line) => line.split(' ', 1)[0])).toEqual([
      'connection.revoked',
      'connection.changed',
      'connection.created',
    ]);
  });

  test('names the program, not a key, in the lines of the audit log of its acts', async ({ souk }) => {
    const { accountId, tokens } = await connected(souk, { automation: '1' });
    const headers = { authorization: `Bearer ${tokens.access_token}` };
    const batch = { operation: 'market.product', items: [{ domain: 1, asins: 'B000000001' }] };
    const answer = await ask(`${souk.clientOf('').baseUrl}/api/batches`, batch, headers);
    expect(answer.status).toBe(202);
    expect((await actions(souk, accountId))[0]).toMatch(/^batch.created Notebook \(connection\)/);
  });
});

test('a new connection is announced to owners and admins, with what it may do and the link to revoke it', async ({
  souk,
}) => {
  const { accountId, keyId } = await connected(souk);
  await souk.database.query('update api_keys set created_at = $2 where account_id = $1', [
    accountId,
    new Date(souk.clock.now()),
  ]);
  const queue = () => queueDueNotices(souk.database, { needsConfirmed: true, now: souk.clock.now() + 1_000 });
  await queue();
  await queue();
  const { rows } = await souk.database.query<{ kind: string; payload: string }>(
    "select kind, payload::text as payload from outbox where account_id = $1 and kind like '%created' order by kind",
    [accountId],
  );
  expect(rows.map(({ kind }) => kind)).toEqual(['connection_created', 'key_created']);
  const { kind, payload } = rows[0] ?? { kind: '', payload: '' };
  const box = createSecretBox(undefined as never);
  const settings = { secretBox: box, publicUrl: 'http://souk.test' };
  const text = mailText({ kind, payload, accountId, shownText: null }, settings) ?? '';
  for (const part of [
    'A program was connected to your account',
    'Notebook',
    '127.0.0.1:33418',
    'read data; look up data',
    'at most 100',
    'at most 1,000',
    `/account/${accountId}/keys/${keyId}`,
  ])
    expect(text).toContain(part);
});

test('staff see the connections of an account in the console, and cannot change them', async ({ souk }) => {
  const { accountId, keyId } = await connected(souk);
  const { visitor } = await staffOf(souk);
  const page = await visitor.get(`/admin/accounts/${accountId}`);
  expect(page.text).toContain('Notebook 127.0.0.1:33418 active');
  await visitor.get(`/account/${accountId}/keys`);
  expect((await visitor.post('/account/keys/revoke', { id: String(keyId) })).status).toBe(403);
});

describe('personal data', () => {
  const records = async ({ database }: Souk, accountId: number) =>
    (
      await database.query(
        `select r.kind from oauth_records r join connections c on c.grant_id = r.grant_id
         join api_keys k on k.id = c.key_id where k.account_id = $1`,
        [accountId],
      )
    ).rows;

  test('of an account and of a person include connections, and no tokens', async ({ souk }) => {
    const { accountId, personId, tokens } = await connected(souk);
    const now = souk.clock.now();
    const account = JSON.parse(await textOf(exportAccount(souk.database, accountId, now)));
    const person = JSON.parse(await textOf(exportPerson(souk.database, personId, now)));
    for (const data of [account.live, person.data]) {
      expect(data.connections).toMatchObject([{ client_name: 'Notebook', redirect_host: '127.0.0.1:33418' }]);
      expect(data.connectionTokens.map(({ kind }: { kind: string }) => kind).sort()).toEqual([
        'AccessToken',
        'AuthorizationCode',
        'Grant',
        'RefreshToken',
      ]);
      expect(JSON.stringify(data)).not.toMatch(/grant_id|payload|km_\w{20}/);
      expect(JSON.stringify(data)).not.toContain(tokens.access_token);
    }
  });

  test('of a person who is erased include the tokens; the connection ends', async ({ souk }) => {
    const { accountId, tokens, program } = await connected(souk);
    const member = await memberOf(souk, accountId, 'developer');
    const own = await connect(souk, member.visitor, accountId);
    await inTransaction(souk.database, (client) => erasePerson(client, member.personId));
    expect([await statusOf(souk, own.tokens), await statusOf(souk, tokens)]).toEqual([401, 200]);
    expect((await own.program.refresh(own.tokens.refresh_token)).status).toBe(400);
    expect((await program.refresh(tokens.refresh_token)).status).toBe(200);
    const keys = await listKeys(souk.database, accountId, souk.clock.now());
    expect(keys.find(({ id }) => id === own.keyId)).toMatchObject({
      state: 'revoked',
      createdByPerson: null,
    });
  });

  test('of an account that is erased include its connections and their tokens', async ({ souk }) => {
    const { accountId, tokens, program } = await connected(souk);
    expect(await records(souk, accountId)).not.toEqual([]);
    const { rows } = await souk.database.query('select grant_id as id from connections');
    await requestErasure(souk.database, accountId, souk.clock.now());
    await eraseDueAccounts(souk.database, souk.clock.now() + ERASURE_DELAY_MS, (_id, error) => {
      throw error;
    });
    expect(await statusOf(souk, tokens)).toBe(401);
    expect((await program.refresh(tokens.refresh_token)).status).toBe(400);
    expect(rows.length).toBeGreaterThan(0);
    const left = await souk.database.query(
      `select from oauth_records r where grant_id = any($1) and not exists (
         select from connections c where c.grant_id = r.grant_id)`,
      [rows.map(({ id }) => id)],
    );
    expect(left.rowCount).toBe(0);
  });
});
