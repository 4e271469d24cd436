import { describe, expect } from 'vitest';
import { removeMember } from '../../../src/accounts/members.ts';
import { type Customer, join, signedIn, visitorOf } from '../../support/customer.ts';
import {
  ALLOWED,
  ask,
  type Program,
  REDIRECT_URI,
  registerProgram,
  type Tokens,
} from '../../support/oauth-program.ts';
import type { Souk } from '../../support/souk.ts';
import { test } from '../../support/souk-test.ts';
import type { Visitor } from '../../support/visitor.ts';

interface Connected {
  customer: Customer;
  program: Program;
  tokens: Tokens;
  keyId: number;
  /** Asks for the quota with a token. */
  quota(token?: string): ReturnType<typeof ask>;
}

async function connected(
  souk: Souk,
  fields: Record<string, string> = {},
  scope?: string,
): Promise<Connected> {
  const { baseUrl } = souk.clientOf('');
  const customer = await signedIn(souk);
  const program = await registerProgram(baseUrl);
  const account = String(customer.accountId);
  const tokens = await program.connect(customer.visitor, { account, ...fields }, { scope });
  const { rows } = await souk.database.query<{ id: number }>(
    'select k.id from connections c join api_keys k on k.id = c.key_id where k.account_id = $1',
    [customer.accountId],
  );
  return {
    customer,
    program,
    tokens,
    keyId: rows[0]?.id ?? 0,
    quota: (token = tokens.access_token) =>
      ask(`${baseUrl}/api/quota`, undefined, { authorization: `Bearer ${token}` }),
  };
}

/** Returns the code that a person has allowed. */
async function codeOf(program: Program, visitor: Visitor, account: number): Promise<string> {
  const address = await program.decide(visitor, await program.begin(visitor), {
    ...ALLOWED,
    account: String(account),
  });
  return address.searchParams.get('code') ?? '';
}

function redeeming(
  program: Program,
  code: string,
  others: Record<string, string> = {},
): Record<string, string> {
  return {
    grant_type: 'authorization_code',
    code,
    redirect_uri: REDIRECT_URI,
    code_verifier: program.verifier,
    ...others,
  };
}

describe('a code', () => {
  test('works once, and its second use ends the connection', async ({ souk }) => {
    const { visitor, accountId } = await signedIn(souk);
    const { baseUrl } = souk.clientOf('');
    const program = await registerProgram(baseUrl);
    const code = await codeOf(program, visitor, accountId);
    const first = await program.redeem(redeeming(program, code));
    const second = await program.redeem(redeeming(program, code));
    expect([first.status, second.status, second.body.error]).toEqual([200, 400, 'invalid_grant']);
    const { status } = await ask(`${baseUrl}/api/quota`, undefined, {
      authorization: `Bearer ${first.body.access_token}`,
    });
    expect(status).toBe(401);
  });

  test('that is redeemed by many requests at the same time gives tokens to at most one', async ({ souk }) => {
    const { visitor, accountId } = await signedIn(souk);
    const program = await registerProgram(souk.clientOf('').baseUrl);
    const code = await codeOf(program, visitor, accountId);
    const answers = await Promise.all(
      Array.from({ length: 10 }, () => program.redeem(redeeming(program, code))),
    );
    expect(answers.filter(({ status }) => status === 200).length).toBeLessThanOrEqual(1);
    expect(new Set(answers.map(({ status }) => status))).not.toContain(500);
  });

  test('does not work a minute later', async ({ souk }) => {
    const { visitor, accountId } = await signedIn(souk);
    const program = await registerProgram(souk.clientOf('').baseUrl);
    const code = await codeOf(program, visitor, accountId);
    souk.clock.advance(60_001);
    expect(await program.redeem(redeeming(program, code))).toMatchObject({
      status: 400,
      body: { error: 'invalid_grant' },
    });
  });

  test.for([
    ['another verifier', { code_verifier: 'a'.repeat(43) }],
    ['another redirect', { redirect_uri: 'http://127.0.0.1:33418/other' }],
  ] as const)('is refused with %s', async ([, others], { souk }) => {
    const { visitor, accountId } = await signedIn(souk);
    const program = await registerProgram(souk.clientOf('').baseUrl);
    const code = await codeOf(program, visitor, accountId);
    expect((await program.redeem(redeeming(program, code, others))).body.error).toBe('invalid_grant');
  });

  test('is refused to another client', async ({ souk }) => {
    const { visitor, accountId } = await signedIn(souk);
    const { baseUrl } = souk.clientOf('');
    const [program, other] = [await registerProgram(baseUrl), await registerProgram(baseUrl)];
    const code = await codeOf(program, visitor, accountId);
    expect((await other.redeem(redeeming(program, code))).body.error).toBe('invalid_grant');
  });
});

describe('a request to connect', () => {
  test.for([
    ['no challenge', { code_challenge: undefined, code_challenge_method: undefined }, 'invalid_request'],
    ['a plain challenge', { code_challenge_method: 'plain' }, 'invalid_request'],
    ['the resource of another service', { resource: 'https://other.example/mcp' }, 'invalid_target'],
    ['another response type', { response_type: 'token' }, 'unsupported_response_type'],
  ] as const)(
    'with %s returns to the program with the error and the issuer',
    async ([, parameters, error], { souk }) => {
      const { visitor } = await signedIn(souk);
      const { baseUrl } = souk.clientOf('');
      const program = await registerProgram(baseUrl);
      const sent = {
        client_id: program.clientId,
        redirect_uri: REDIRECT_URI,
        response_type: 'code',
        state: 's',
      };
      const challenge = { code_challenge: 'a'.repeat(43), code_challenge_method: 'S256' };
      const all = Object.entries({ ...sent, ...challenge, ...parameters } as Record<
        string,
        string | undefined
      >);
      const given = all.filter((pair): pair is [string, string] => pair[1] !== undefined);
      const { status, headers } = await visitor.open(`/oauth/authorize?${new URLSearchParams(given)}`);
      const address = new URL(String(headers.location));
      const returned = address.hash ? new URLSearchParams(address.hash.slice(1)) : address.searchParams;
      expect([status, returned.get('error'), returned.get('iss'), returned.get('state')]).toEqual([
        303,
        error,
        baseUrl,
        's',
      ]);
    },
  );

  test.for([
    ['an address that was not registered', 'http://127.0.0.1:33418/other', 400],
    ['another host', 'http://192.0.2.1:33418/callback', 400],
    ['another port of the loopback address', 'http://127.0.0.1:50123/callback', 303],
  ] as const)('with %s is answered with %s', async ([, redirect_uri, expected], { souk }) => {
    const { visitor } = await signedIn(souk);
    const { baseUrl } = souk.clientOf('');
    const program = await registerProgram(baseUrl);
    const query = new URLSearchParams({
      client_id: program.clientId,
      redirect_uri,
      response_type: 'code',
      code_challenge: 'a'.repeat(43),
      code_challenge_method: 'S256',
    });
    const page = await visitor.open(`/oauth/authorize?${query}`);
    expect(page.status).toBe(expected);
    if (expected === 400) expect(page.headers.location).toBeUndefined();
  });
});

describe('an access token', () => {
  test('is accepted only in the Authorization header', async ({ souk }) => {
    const { tokens, quota } = await connected(souk);
    const { baseUrl } = souk.clientOf('');
    const token = tokens.access_token;
    expect((await quota()).status).toBe(200);
    expect((await ask(`${baseUrl}/api/quota?key=${token}`)).status).toBe(401);
    expect((await ask(`${baseUrl}/api/quota?access_token=${token}`)).status).toBe(401);
    expect((await ask(`${baseUrl}/api/quota`, undefined, { 'x-api-key': token })).status).toBe(401);
    const other = { authorization: 'Basic eDp4' };
    expect((await ask(`${baseUrl}/api/quota?key=${token}`, undefined, other)).status).toBe(401);
  });

  test('ends after an hour', async ({ souk }) => {
    const { quota } = await connected(souk);
    expect((await quota()).status).toBe(200);
    souk.clock.advance(3_600_001);
    const { status, headers } = await quota();
    expect([status, headers['www-authenticate']]).toEqual([
      401,
      expect.stringContaining('error="invalid_token"'),
    ]);
  });

  test('that was issued for another service is refused', async ({ souk }) => {
    const { customer, quota } = await connected(souk);
    await souk.database.query(
      `update oauth_records r set payload = (payload::jsonb || '{"aud": "https://other.example"}')::json from connections c join api_keys k
         on k.id = c.key_id where r.kind = 'AccessToken' and r.grant_id = c.grant_id and k.account_id = $1`,
      [customer.accountId],
    );
    expect((await quota()).status).toBe(401);
  });

  test('is stored as its digest only, and is absent from the log, Redis and the provider', async ({
    souk,
    redis,
    upstream,
  }) => {
    const { tokens, program, customer } = await connected(souk);
    const { baseUrl } = souk.clientOf('');
    const code = await codeOf(program, customer.visitor, customer.accountId);
    const headers = { authorization: `Bearer ${tokens.access_token}` };
    const answer = await ask(`${baseUrl}/api/market/product?domain=1&asins=B000000001`, undefined, headers);
    expect(answer.status).toBe(200);
    const { rows } = await souk.database.query<{ text: string }>(
      `select coalesce(string_agg(r::text, ' '), '') as text from oauth_records r`,
    );
    const keys = await redis.keys('*');
    const contents = await Promise.all(keys.map((key) => redis.dump(key).then(String)));
    const seen = [
      rows[0]?.text,
      souk.logLines.join(' '),
      keys.join(' '),
      ...contents,
      JSON.stringify(upstream.calls),
    ].join(' ');
    for (const secret of [tokens.access_token, tokens.refresh_token, code])
      expect(seen).not.toContain(secret);
  });

  test('lacks the scopes that the person has not given, and the refusal names those to ask for', async ({
    souk,
  }) => {
    const { tokens } = await connected(souk, {}, 'read products');
    const { baseUrl } = souk.clientOf('');
    const headers = { authorization: `Bearer ${tokens.access_token}` };
    const refused = await ask(`${baseUrl}/api/aba/countries`, undefined, headers);
    expect(refused.status).toBe(200);
    const rank = await ask(`${baseUrl}/api/webtrends/daily-trends`, undefined, headers);
    expect([rank.status, rank.headers['www-authenticate']]).toEqual([
      403,
      expect.stringMatching(
        /^Bearer error="insufficient_scope", scope="read products trends", resource_metadata="/,
      ),
    ]);
    const name = 'web_trends_daily_trends';
    for (const params of [
      { name, arguments: {} },
      { name: 'tools_call', arguments: { name, arguments: {} } },
    ]) {
      const message = { jsonrpc: '2.0', id: 1, method: 'tools/call', params };
      const accept = { accept: 'application/json, text/event-stream' };
      const tool = await ask(`${baseUrl}/mcp`, message, { ...headers, ...accept });
      expect([tool.status, tool.headers['www-authenticate']]).toEqual([
        403,
        expect.stringContaining('insufficient_scope'),
      ]);
    }
  });

  test('that was never issued is refused like an unknown key', async ({ souk }) => {
    const { baseUrl } = souk.clientOf('');
    const answer = await ask(`${baseUrl}/api/quota`, undefined, {
      authorization: `Bearer ${'a'.repeat(43)}`,
    });
    expect([answer.status, answer.body.code]).toEqual([401, '4001']);
  });
});

describe('a refresh token', () => {
  test('is replaced by each use, and keeps the connection', async ({ souk }) => {
    const { program, tokens, quota } = await connected(souk);
    const { status, body } = await program.refresh(tokens.refresh_token);
    expect(status).toBe(200);
    expect(body.refresh_token).not.toBe(tokens.refresh_token);
    expect((await quota(body.access_token)).status).toBe(200);
  });

  test('that is used again ends the whole connection', async ({ souk }) => {
    const { program, tokens, quota } = await connected(souk);
    const { body } = await program.refresh(tokens.refresh_token);
    expect((await program.refresh(tokens.refresh_token)).body.error).toBe('invalid_grant');
    expect((await quota(body.access_token)).status).toBe(401);
    expect((await program.refresh(body.refresh_token)).body.error).toBe('invalid_grant');
  });

  test.for(['RefreshToken', 'AccessToken'])(
    'works again if PostgreSQL has failed to store the new %s',
    async (kind, { souk }) => {
      const { program, tokens, quota } = await connected(souk);
      await souk.database.query(
        `create function fail() returns trigger language plpgsql as $$ begin raise 'stopping' using errcode = '57P01'; end $$;
         create trigger fails before insert on oauth_records for each row when (new.kind = '${kind}') execute function fail()`,
      );
      const failed = await program.refresh(tokens.refresh_token);
      await souk.database.query('drop trigger fails on oauth_records; drop function fail()');
      expect(failed.status).toBe(503);
      const { status, body } = await program.refresh(tokens.refresh_token);
      expect([status, (await quota(body.access_token)).status]).toEqual([200, 200]);
      expect((await program.refresh(tokens.refresh_token)).body.error).toBe('invalid_grant');
      expect((await quota(body.access_token)).status).toBe(401);
    },
  );

  test('gives tokens to one of many requests at the same time', async ({ souk }) => {
    const { program, tokens } = await connected(souk);
    const answers = await Promise.all(
      Array.from({ length: 10 }, () => program.refresh(tokens.refresh_token)),
    );
    expect(answers.filter(({ status }) => status === 200).length).toBeLessThanOrEqual(1);
    expect(new Set(answers.map(({ status }) => status))).not.toContain(500);
  });

  test('ends with the key of its connection', async ({ souk }) => {
    const { program, tokens } = await connected(souk, { days: '1' });
    souk.clock.advance(86_400_001);
    expect((await program.refresh(tokens.refresh_token)).body.error).toBe('invalid_grant');
  });

  test('of another client is refused', async ({ souk }) => {
    const { tokens } = await connected(souk);
    const other = await registerProgram(souk.clientOf('').baseUrl);
    expect((await other.refresh(tokens.refresh_token)).body.error).toBe('invalid_grant');
  });

  test('is revoked by its program, and with it the connection', async ({ souk }) => {
    const { program, tokens, quota } = await connected(souk);
    expect((await program.send('/oauth/revoke', { token: tokens.refresh_token })).status).toBe(200);
    expect((await quota()).status).toBe(401);
  });
});

describe('a connection ends', () => {
  test.for([
    ['is removed from the account', null],
    ['gets a role that creates no keys', 'viewer'],
  ] as const)('when its person %s', async ([, role], { souk }) => {
    const owner = await signedIn(souk);
    const { accountId } = owner;
    const now = souk.clock.now();
    const { personId } = await signedIn(souk, { plan: null });
    await join(souk, { accountId, personId, role: 'developer' });
    const { visitor } = await visitorOf(souk, personId);
    const { baseUrl } = souk.clientOf('');
    const tokens = await (await registerProgram(baseUrl)).connect(visitor, { account: String(accountId) });
    const quota = () =>
      ask(`${baseUrl}/api/quota`, undefined, { authorization: `Bearer ${tokens.access_token}` });
    expect((await quota()).status).toBe(200);
    if (role === null) await removeMember(souk.database, { accountId, personId }, now);
    else await join(souk, { accountId, personId, role });
    expect((await quota()).status).toBe(401);
  });
});

test.for([
  ['a name with a zero byte', { client_name: 'a\u0000b' }],
  ['a name with half a character', { client_name: 'a\ud800b' }],
  ['a name of 50,000 characters', { client_name: 'a'.repeat(50_000) }],
  ['a name that is a number', { client_name: 7 }],
  ['redirects that are a text', { redirect_uris: 'http://127.0.0.1/' }],
  ['redirects of numbers', { redirect_uris: [7] }],
  ['no redirects', { redirect_uris: [] }],
] as const)(
  'a registration with %s is answered, and never with an internal error',
  async ([, metadata], { souk }) => {
    const { baseUrl } = souk.clientOf('');
    const given = { redirect_uris: [REDIRECT_URI], ...metadata };
    const { status } = await ask(`${baseUrl}/oauth/register`, given);
    expect([201, 400]).toContain(status);
  },
);

test('a program that registers without a method has no secret, and no further document of it is fetched', async ({
  souk,
}) => {
  const { baseUrl } = souk.clientOf('');
  const given = { redirect_uris: [REDIRECT_URI], sector_identifier_uri: 'https://127.0.0.1:1/x' };
  const { status, body } = await ask(`${baseUrl}/oauth/register`, given);
  expect([status, body.token_endpoint_auth_method, 'client_secret' in body]).toEqual([201, 'none', false]);
});

test('a request for a connection whose state has a zero byte is answered', async ({ souk }) => {
  const { visitor } = await signedIn(souk);
  const program = await registerProgram(souk.clientOf('').baseUrl);
  expect((await program.begin(visitor, { state: 'a\u0000b' })).status).toBe(200);
});
