import { generateKeyPairSync } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type Adapter, type AdapterPayload, type Configuration, Provider } from 'oidc-provider';
import { request } from 'undici';

/** What the provider knows about a person, besides `sub`. */
export type Claims = Record<string, unknown>;

/** A real OpenID Connect provider, at which people sign in without being asked. */
export interface OpenIdProvider {
  issuer: string;
  /** By subject. */
  people: Map<string, Claims>;
  /** Signs somebody in as a browser does that the service has sent here. @returns the address to which the browser is sent back. */
  signIn(address: string, subject: string): Promise<URL>;
  /** Requests to the token endpoint. */
  readonly tokenRequests: number;
  close(): Promise<void>;
}

export const CLIENT = { clientId: 'souk', clientSecret: 'the client secret of souk at its provider' };

/** ID tokens are valid for this long. */
export const ID_TOKEN_SECONDS = 120;

/** @param redirectUri where Souk expects browsers back. */
export async function openOpenIdProvider(redirectUri: string): Promise<OpenIdProvider> {
  const people = new Map<string, Claims>();
  let tokenRequests = 0;
  let subject = '';
  const server = createServer();
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const issuer = `http://127.0.0.1:${port}`;
  const provider = new Provider(issuer, configurationOf(redirectUri, people));
  const handle = provider.callback();

  server.on('request', (incoming: IncomingMessage, outgoing: ServerResponse) => {
    if (incoming.url === '/token') tokenRequests += 1;
    if (!incoming.url?.startsWith('/interaction/')) return void handle(incoming, outgoing);
    const result = subject === '' ? { error: 'access_denied' } : { login: { accountId: subject } };
    return void provider.interactionFinished(incoming, outgoing, result);
  });

  return {
    issuer,
    people,
    get tokenRequests() {
      return tokenRequests;
    },
    async signIn(address, as) {
      subject = as;
      return browse(address, redirectUri);
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

/** Follows redirects with cookies until one leads back to the service. */
async function browse(start: string, redirectUri: string): Promise<URL> {
  const cookies = new Map<string, string>();
  let address = start;
  for (let hops = 0; hops < 10 && !address.startsWith(redirectUri); hops++) {
    const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join('; ');
    const { headers, body, statusCode } = await request(address, { headers: { cookie } });
    const text = await body.text();
    for (const set of [headers['set-cookie'] ?? []].flat()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(set) ?? [];
      cookies.set(name, value);
    }
    if (typeof headers.location !== 'string') throw new Error(`the provider answered ${statusCode}: ${text}`);
    address = new URL(headers.location, address).href;
  }
  return new URL(address);
}

function configurationOf(redirectUri: string, people: ReadonlyMap<string, Claims>): Configuration {
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  const key = { ...privateKey.export({ format: 'jwk' }), use: 'sig', alg: 'RS256', kid: 'only' };
  return {
    adapter: adapterOf(new Map()),
    clients: [
      {
        client_id: CLIENT.clientId,
        client_secret: CLIENT.clientSecret,
        redirect_uris: [redirectUri],
        token_endpoint_auth_method: 'client_secret_post',
      },
    ],
    jwks: { keys: [key as never] },
    cookies: { keys: ['a key for the cookies of the provider'] },
    features: { devInteractions: { enabled: false } },
    interactions: { url: (_ctx, { uid }) => `/interaction/${uid}` },
    claims: { openid: ['sub'], email: ['email', 'email_verified'], profile: ['name', 'groups'] },
    pkce: { required: () => true },
    ttl: {
      AccessToken: 600,
      AuthorizationCode: 60,
      Grant: 600,
      IdToken: ID_TOKEN_SECONDS,
      Interaction: 600,
      Session: 600,
    },
    findAccount: (_ctx, sub) => ({
      accountId: sub,
      claims: async () => ({ sub, ...people.get(sub) }),
    }),
    async loadExistingGrant({ oidc }) {
      const { provider, client, session } = oidc;
      if (!client || !session?.accountId) return undefined;
      const grant = new provider.Grant({ clientId: client.clientId, accountId: session.accountId });
      grant.addOIDCScope('openid email profile');
      await grant.save();
      return grant;
    },
    renderError(ctx, { error }) {
      ctx.body = error;
    },
  };
}

/** Keeps what the provider stores in memory, until it is closed. */
function adapterOf(rows: Map<string, AdapterPayload>): (model: string) => Adapter {
  return (model) => ({
    async upsert(id, payload) {
      rows.set(`${model} ${id}`, payload);
    },
    find: async (id) => rows.get(`${model} ${id}`),
    findByUid: async (uid) => [...rows.values()].find((row) => row.uid === uid && row.kind === model),
    findByUserCode: async () => undefined,
    async consume(id) {
      const row = rows.get(`${model} ${id}`);
      if (row) row.consumed = Math.floor(Date.now() / 1000);
    },
    async destroy(id) {
      rows.delete(`${model} ${id}`);
    },
    async revokeByGrantId(grantId) {
      for (const [key, row] of rows) if (row.grantId === grantId) rows.delete(key);
    },
  });
}
