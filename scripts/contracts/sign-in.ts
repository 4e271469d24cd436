import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  Client,
  type OAuthClientProvider,
  StreamableHTTPClientTransport,
  UnauthorizedError,
} from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { openPerson, type Person } from './person.ts';
import { type Contract, npx, type Service, tool } from './tool.ts';

/** Programs that know only the address of the tools: they register, a person allows them, they list the tools and make a call. */
export const SIGN_IN: Readonly<Record<string, Contract>> = {
  'sign in: mcpc': signedIn(callWithMcpc),
  'sign in: inspector': signedIn(callWithInspector),
  'sign in: mcp-remote': signedIn(callWithRemote),
  'sign in: sdk': signedIn(callWithSdk),
  'sign in: ai sdk': signedIn(callWithAiSdk),
};

const MCPC = '@apify/mcpc@0.2.6';
const INSPECTOR = '@modelcontextprotocol/inspector@2.12.0';
const REMOTE = 'mcp-remote@0.15.1';
const AI_SDK = '@ai-sdk/mcp@2.0.99';

/** A tool of the default list, and one that is free and needs no arguments. */
const [LISTED, CALLED] = ['market_get_product', 'market_get_quota'];
const IN_ANSWER = 'nextCallRejectReason';

/** npx may have to fetch the program first. */
const CONNECT_MS = 300_000;

function signedIn(use: (folder: string, service: Service, person: Person) => Promise<void>): Contract {
  return async (folder, service) => {
    const person = await openPerson(folder, service);
    try {
      await use(folder, service, person);
    } finally {
      await person.close();
    }
  };
}

function expectIn(printed: string, ...texts: readonly string[]): void {
  for (const text of texts) if (!printed.includes(text)) throw new Error(`without ${text}: ${printed}`);
}

async function callWithMcpc(folder: string, { url }: Service, { env }: Person): Promise<void> {
  const mcpc = (...words: string[]) => npx([MCPC], 'mcpc', words, folder, { ...env, MCPC_HOME_DIR: folder });
  await mcpc('login', `${url}/mcp`);
  await mcpc('connect', `${url}/mcp`, '@souk');
  try {
    expectIn(await mcpc('--json', '@souk', 'tools-list'), LISTED);
    expectIn(await mcpc('--json', '@souk', 'tools-call', CALLED, '{}'), IN_ANSWER);
  } finally {
    await mcpc('@souk', 'close');
  }
}

async function callWithInspector(folder: string, { url }: Service, { env }: Person): Promise<void> {
  const inspect = (...words: string[]) =>
    npx([INSPECTOR], 'mcp-inspector', ['--cli', `${url}/mcp`, '--transport', 'http', ...words], folder, {
      ...env,
      MCP_AUTO_OPEN_ENABLED: 'true',
    });
  expectIn(await inspect('--method', 'tools/list'), LISTED);
  expectIn(await inspect('--method', 'tools/call', '--tool-name', CALLED), IN_ANSWER);
}

async function callWithRemote(folder: string, { url }: Service, { env }: Person): Promise<void> {
  const transport = new StdioClientTransport({
    command: 'npx',
    args: ['-y', REMOTE, `${url}/mcp`],
    stderr: 'pipe',
    cwd: folder,
    env: { ...(process.env as Record<string, string>), MCP_REMOTE_CONFIG_DIR: folder, ...env },
  });
  let printed = '';
  transport.stderr?.on('data', (chunk: Buffer) => {
    printed += chunk.toString();
  });
  const client = new Client({ name: 'contracts', version: '1.0.0' });
  try {
    await client.connect(transport, { timeout: CONNECT_MS });
    await expectCalls(client);
  } catch (error) {
    throw new Error(`${(error as Error).message}\n${printed}`, { cause: error });
  } finally {
    await client.close();
  }
}

async function expectCalls(client: Client): Promise<void> {
  const { tools } = await client.listTools();
  expectIn(tools.map(({ name }) => name).join(), LISTED);
  expectIn(JSON.stringify(await client.callTool({ name: CALLED, arguments: {} })), IN_ANSWER);
}

async function callWithSdk(_folder: string, { url }: Service, person: Person): Promise<void> {
  const provider = createOAuthProvider();
  for (const mode of ['legacy', { pin: '2026-07-28' }] as const) {
    const connect = async () => {
      const client = new Client({ name: 'contracts', version: '1.0.0' }, { versionNegotiation: { mode } });
      const transport = new StreamableHTTPClientTransport(new URL(`${url}/mcp`), { authProvider: provider });
      try {
        await client.connect(transport);
      } catch (error) {
        if (!(error instanceof UnauthorizedError)) throw error;
        await transport.finishAuth((await person.allow(provider.opened)).searchParams);
        return null;
      }
      return client;
    };
    const client = (await connect()) ?? (await connect());
    if (!client) throw new Error('the client is not authorized after it has signed in');
    await expectCalls(client);
    await client.close();
  }
}

/** Keeps everything in memory, and the address that it wants to open. */
function createOAuthProvider(): OAuthClientProvider & { opened: string } {
  const redirectUrl = 'http://127.0.0.1:33418/callback';
  const kept: {
    client?: ReturnType<OAuthClientProvider['clientInformation']>;
    tokens?: ReturnType<OAuthClientProvider['tokens']>;
    discovery?: ReturnType<NonNullable<OAuthClientProvider['discoveryState']>>;
    verifier?: string;
  } = {};
  return {
    opened: '',
    redirectUrl,
    clientMetadata: {
      client_name: 'Contracts',
      redirect_uris: [redirectUrl],
      token_endpoint_auth_method: 'none',
      grant_types: ['authorization_code', 'refresh_token'],
    },
    clientInformation: () => kept.client,
    saveClientInformation(client) {
      kept.client = client;
    },
    tokens: () => kept.tokens,
    saveTokens(tokens) {
      kept.tokens = tokens;
    },
    redirectToAuthorization(address) {
      this.opened = address.href;
    },
    saveDiscoveryState(discovery) {
      kept.discovery = discovery;
    },
    discoveryState: () => kept.discovery,
    saveCodeVerifier(verifier) {
      kept.verifier = verifier;
    },
    codeVerifier: () => kept.verifier ?? '',
  };
}

async function callWithAiSdk(folder: string, { url }: Service, { env, address }: Person): Promise<void> {
  writeFileSync(join(folder, 'package.json'), '{ "type": "module" }');
  await tool('npm', ['install', '--no-audit', '--no-fund', AI_SDK], folder, env);
  writeFileSync(join(folder, 'program.mjs'), AI_SDK_PROGRAM);
  const printed = await tool(process.execPath, ['program.mjs'], folder, { SOUK_URL: url, PERSON: address });
  expectIn(printed, LISTED, IN_ANSWER);
}

const AI_SDK_PROGRAM = `import { auth, createMCPClient } from '@ai-sdk/mcp';
const { SOUK_URL, PERSON } = process.env;
const redirectUrl = 'http://127.0.0.1:33418/callback';
const kept = {};
const authProvider = {
  redirectUrl,
  clientMetadata: { client_name: 'Contracts', redirect_uris: [redirectUrl], token_endpoint_auth_method: 'none' },
  clientInformation: () => kept.client,
  saveClientInformation: (client) => { kept.client = client; },
  isClientInformationDynamicallyRegistered: () => true,
  tokens: () => kept.tokens,
  saveTokens: (tokens) => { kept.tokens = tokens; },
  redirectToAuthorization: (address) => { kept.address = address; },
  saveCodeVerifier: (verifier) => { kept.verifier = verifier; },
  codeVerifier: () => kept.verifier,
};
const serverUrl = SOUK_URL + '/mcp';
await auth(authProvider, { serverUrl });
const answer = await fetch(PERSON + '/?open=' + encodeURIComponent(kept.address));
const { searchParams } = new URL(await answer.text());
await auth(authProvider, {
  serverUrl,
  authorizationCode: searchParams.get('code'),
  callbackIssuer: searchParams.get('iss'),
});
const client = await createMCPClient({ transport: { type: 'http', url: serverUrl, authProvider } });
const tools = await client.tools();
console.log(Object.keys(tools).join());
console.log(JSON.stringify(await tools.market_get_quota.execute({}, { toolCallId: '1', messages: [] })));
await client.close();
`;
