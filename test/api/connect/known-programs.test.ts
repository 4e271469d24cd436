// biome-ignore-all lint/correctness/noEmptyPattern: Vitest reads from the pattern which fixtures are used.
// oxlint-disable no-empty-pattern -- for the same reason
import { expect } from 'vitest';
import { signedIn } from '../../support/customer.ts';
import { openMetadataServer, TEST_AUTHORITY } from '../../support/metadata-server.ts';
import { ALLOWED, ask, type Program, programOf, type Tokens } from '../../support/oauth-program.ts';
import { test as withService } from '../../support/souk-test.ts';

/**
 * Programs as their vendors document or publish them: what they register or publish, where the browser returns, and what else their
 * requests have. Documents and registrations were read in 2026; the addresses in `from` have them.
 */
interface KnownProgram {
  name: string;
  from: string;
  /** Whether the metadata are a document behind its client id, which has the id too, or are sent to the registration endpoint. */
  way: 'publishes' | 'registers';
  metadata: { client_name: string; redirect_uris: readonly string[]; [field: string]: unknown };
  /** Where the browser returns, one after the other. */
  returnsTo: readonly string[];
  /** Further parameters of its authorization requests. */
  asks?: Record<string, string>;
}

const CODE_AND_REFRESH = { grant_types: ['authorization_code', 'refresh_token'], response_types: ['code'] };
const PUBLIC = { ...CODE_AND_REFRESH, token_endpoint_auth_method: 'none' };
const DEVICE_CODE = 'urn:ietf:params:oauth:grant-type:device_code';
const JWT_BEARER = 'urn:ietf:params:oauth:grant-type:jwt-bearer';

const PROGRAMS: readonly KnownProgram[] = [
  {
    name: 'Claude, by its document',
    from: 'https://claude.ai/oauth/mcp-oauth-client-metadata',
    way: 'publishes',
    metadata: {
      ...PUBLIC,
      client_name: 'Claude',
      client_uri: 'https://claude.ai',
      redirect_uris: ['https://claude.ai/api/mcp/auth_callback'],
      grant_types: [...PUBLIC.grant_types, JWT_BEARER],
    },
    returnsTo: ['https://claude.ai/api/mcp/auth_callback'],
  },
  {
    name: 'Claude, registered',
    from: 'https://claude.com/docs/connectors/building/authentication',
    way: 'registers',
    metadata: {
      ...PUBLIC,
      client_name: 'Claude',
      redirect_uris: ['https://claude.ai/api/mcp/auth_callback', 'https://claude.com/api/mcp/auth_callback'],
      scope: 'claudeai',
    },
    returnsTo: ['https://claude.ai/api/mcp/auth_callback', 'https://claude.com/api/mcp/auth_callback'],
    asks: { scope: 'claudeai' },
  },
  {
    name: 'Claude Code, by its document',
    from: 'https://claude.ai/oauth/claude-code-client-metadata',
    way: 'publishes',
    metadata: {
      ...PUBLIC,
      client_name: 'Claude Code',
      client_uri: 'https://claude.ai',
      redirect_uris: ['http://localhost/callback', 'http://127.0.0.1/callback'],
    },
    returnsTo: [
      'http://localhost:3118/callback',
      'http://localhost:55611/callback',
      'http://127.0.0.1:52163/callback',
    ],
  },
  {
    name: 'Claude Code, registered',
    from: 'https://github.com/elmohq/elmo/pull/684',
    way: 'registers',
    metadata: {
      ...PUBLIC,
      client_name: 'Claude Code (souk)',
      redirect_uris: ['http://localhost:3118/callback'],
      application_type: 'native',
    },
    returnsTo: ['http://localhost:3118/callback', 'http://localhost:61000/callback'],
  },
  {
    name: 'ChatGPT, by its document',
    from: 'https://chatgpt.com/oauth/client.json',
    way: 'publishes',
    metadata: {
      ...CODE_AND_REFRESH,
      client_name: 'ChatGPT',
      client_uri: 'https://chatgpt.com/',
      logo_uri: 'https://persistent.oaistatic.com/sonic/misc/openai-logo.png',
      redirect_uris: ['https://chatgpt.com/connector_platform_oauth_redirect'],
      token_endpoint_auth_method: 'private_key_jwt',
      token_endpoint_auth_methods_supported: ['none', 'private_key_jwt'],
      token_endpoint_auth_signing_alg: 'RS256',
      jwks_uri: 'https://chatgpt.com/oauth/jwks.json',
    },
    returnsTo: ['https://chatgpt.com/connector_platform_oauth_redirect'],
    asks: { scope: 'read market offline_access' },
  },
  {
    name: 'ChatGPT, registered for one connector',
    from: 'https://developers.openai.com/apps-sdk/build/auth',
    way: 'registers',
    metadata: {
      ...PUBLIC,
      client_name: 'ChatGPT',
      redirect_uris: ['https://chatgpt.com/connector/oauth/OUbdUMlL15Ct'],
    },
    returnsTo: ['https://chatgpt.com/connector/oauth/OUbdUMlL15Ct'],
  },
  {
    name: 'Codex, by its document',
    from: 'https://chatgpt.com/oauth/codex/client.json',
    way: 'publishes',
    metadata: {
      ...PUBLIC,
      client_name: 'Codex',
      redirect_uris: ['http://127.0.0.1/callback', 'http://localhost/callback'],
    },
    returnsTo: ['http://127.0.0.1:37819/callback'],
  },
  {
    name: 'Cursor, registered',
    from: 'https://cursor.com/docs/mcp',
    way: 'registers',
    metadata: {
      ...PUBLIC,
      client_name: 'Cursor',
      redirect_uris: [
        'cursor://anysphere.cursor-mcp/oauth/callback',
        'https://www.cursor.com/agents/mcp/oauth/callback',
        'http://localhost:8787/callback',
      ],
    },
    returnsTo: ['http://localhost:8787/callback', 'https://www.cursor.com/agents/mcp/oauth/callback'],
  },
  {
    name: 'VS Code, by its document',
    from: 'https://vscode.dev/oauth/client-metadata.json',
    way: 'publishes',
    metadata: {
      ...PUBLIC,
      client_name: 'Visual Studio Code',
      client_uri: 'https://vscode.dev/product',
      logo_uri: 'https://code.visualstudio.com/assets/branding/code-stable.png',
      redirect_uris: ['http://127.0.0.1:33418/', 'https://vscode.dev/redirect'],
      grant_types: [...PUBLIC.grant_types, DEVICE_CODE],
      application_type: 'native',
    },
    returnsTo: ['http://127.0.0.1:33418/', 'http://127.0.0.1:59656/', 'https://vscode.dev/redirect'],
  },
  {
    name: 'VS Code, registered',
    from: 'https://github.com/microsoft/vscode/blob/main/src/vs/base/common/oauth.ts',
    way: 'registers',
    metadata: {
      ...PUBLIC,
      client_name: 'Visual Studio Code',
      client_uri: 'https://code.visualstudio.com',
      redirect_uris: [
        'https://insiders.vscode.dev/redirect',
        'https://vscode.dev/redirect',
        'http://127.0.0.1/',
        'http://127.0.0.1:33418/',
      ],
      grant_types: [...PUBLIC.grant_types, DEVICE_CODE],
      application_type: 'native',
    },
    returnsTo: ['http://127.0.0.1:33418/', 'http://127.0.0.1:59656/', 'https://vscode.dev/redirect'],
  },
];

const test = withService
  .override('soukOptions', {
    allowPrivateWebhooks: true,
    gateway: { connect: { ca: TEST_AUTHORITY, registrationsPerHour: 1_000 } },
  })
  .extend('vendor', { scope: 'file' }, async ({}, { onCleanup }) => {
    const server = await openMetadataServer();
    onCleanup(() => server.close());
    return server;
  })
  .extend('baseUrl', ({ souk }) => souk.clientOf('').baseUrl);

const register = (baseUrl: string, body: object) => ask(`${baseUrl}/oauth/register`, body);

test.for(PROGRAMS.map((program): [string, KnownProgram] => [program.name, program]))(
  '%s, signs a person in, makes calls and stays signed in',
  async ([_name, { way, metadata, returnsTo, asks }], { souk, vendor, baseUrl }) => {
    const { visitor, accountId } = await signedIn(souk);
    const clientId =
      way === 'publishes'
        ? vendor.publish(`/oauth/${accountId}.json`, metadata)
        : (await register(baseUrl, metadata)).body.client_id;
    for (const redirectUri of returnsTo) {
      const program = programOf(baseUrl, clientId, redirectUri);
      const page = await program.begin(visitor, asks);
      expect(page.text).toContain(metadata.client_name);
      const address = await program.decide(visitor, page, { ...ALLOWED, account: String(accountId) });
      expect(`${address.origin}${address.pathname}`).toBe(redirectUri);
      expect(Object.fromEntries(address.searchParams)).toEqual({
        code: expect.any(String),
        state: 'xyz',
        iss: baseUrl,
      });
      await expectTokens(program, baseUrl, String(address.searchParams.get('code')));
    }
  },
);

/** Redeems a code for tokens of the tools, uses them, and renews them. */
async function expectTokens(program: Program, baseUrl: string, code: string): Promise<void> {
  const resource = `${baseUrl}/mcp`;
  const { redirectUri: redirect_uri, verifier: code_verifier } = program;
  const grant = { grant_type: 'authorization_code', code, redirect_uri, code_verifier, resource };
  const { status, body: tokens } = await program.redeem(grant);
  expect([status, tokens]).toEqual([200, TOKENS]);
  await expectUsable(baseUrl, tokens);
  const renewed = await program.redeem({
    grant_type: 'refresh_token',
    refresh_token: tokens.refresh_token,
    resource,
  });
  expect([renewed.status, renewed.body]).toEqual([200, TOKENS]);
  expect(renewed.body.refresh_token).not.toBe(tokens.refresh_token);
  await expectUsable(baseUrl, renewed.body);
}

const TOKENS = {
  access_token: expect.any(String),
  refresh_token: expect.any(String),
  token_type: 'Bearer',
  expires_in: 3_600,
  scope: expect.stringMatching(/(^| )read( |$)/),
};

async function expectUsable(baseUrl: string, { access_token: token }: Tokens): Promise<void> {
  const { status, body } = await ask(
    `${baseUrl}/mcp`,
    { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'market_get_quota', arguments: {} } },
    { authorization: `Bearer ${token}`, accept: 'application/json, text/event-stream' },
  );
  expect(status).toBe(200);
  expect(JSON.stringify(body)).toContain('nextCallRejectReason');
}

test('a program that publishes its metadata is asked for them once', async ({ souk, vendor, baseUrl }) => {
  const { visitor } = await signedIn(souk);
  const [claude] = PROGRAMS;
  const path = '/oauth/read-once.json';
  const clientId = vendor.publish(path, claude?.metadata ?? {});
  for (let i = 0; i < 3; i += 1) await programOf(baseUrl, clientId, claude?.returnsTo[0]).begin(visitor);
  expect(vendor.requests.filter((one) => one === path)).toEqual([path]);
});

const WEB_OR_LOOPBACK =
  'redirect_uris must be at most 20 addresses with https://, or with http:// on a loopback address';

test.for([
  ['of an app', ['cursor://anysphere.cursor-mcp/oauth/callback']],
  ['of two apps', ['cursor://anysphere.cursor-mcp/oauth/callback', 'grokbot://mcp/oauth/callback']],
  ['with a script', ['javascript:alert(1)']],
  ['without TLS elsewhere', ['http://notebook.example/callback']],
  [
    'without TLS elsewhere, next to one that is fit',
    ['https://notebook.example/a', 'http://notebook.example/b'],
  ],
  ['without a scheme', ['callback']],
] as const)('a registration with an address of return %s is refused', async ([_, addresses], { baseUrl }) => {
  const { status, body } = await register(baseUrl, { client_name: 'Notebook', redirect_uris: addresses });
  expect([status, body]).toEqual([
    400,
    { error: 'invalid_redirect_uri', error_description: WEB_OR_LOOPBACK },
  ]);
});

test('the address of an app is left out of a registration that has others, and the browser is never sent there', async ({
  souk,
  baseUrl,
}) => {
  const cursor = PROGRAMS.find(({ name }) => name.startsWith('Cursor'));
  const [ofApp = '', ...others] = cursor?.metadata.redirect_uris ?? [];
  const { body } = await register(baseUrl, cursor?.metadata ?? {});
  expect(body.redirect_uris).toEqual(others);
  const { visitor } = await signedIn(souk);
  const page = await programOf(baseUrl, body.client_id, ofApp).begin(visitor);
  expect([page.status, page.headers.location]).toEqual([400, undefined]);
  expect(page.text).toContain('redirect_uri');
});
