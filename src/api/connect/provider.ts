import { generateKeyPairSync } from 'node:crypto';
import Provider, {
  type Client,
  type Configuration,
  errors,
  interactionPolicy,
  type KoaContextWithOIDC,
} from 'oidc-provider';
import type { Attempts } from '../../accounts/attempts.ts';
import { SCOPES, type Scope } from '../../accounts/key-settings.ts';
import { isClientConnected, openOAuthRecords } from '../../accounts/oauth-records.ts';
import { findPerson } from '../../accounts/people.ts';
import { createAddressGuard } from '../../outbox/webhooks/address-guard.ts';
import type { Clock } from '../../platform/clock.ts';
import type { Database } from '../../platform/db/pool.ts';
import { DAY_MS } from '../../platform/durations.ts';
import type { Logger } from '../../platform/log.ts';
import { isStoreDown } from '../../platform/outage.ts';
import type { SecretBox } from '../../platform/secret-box.ts';
import { OUTAGE_RETRY_SECONDS } from '../plugins/errors.ts';
import { createMetadataFetch, KNOWN_CLIENTS } from './known-clients.ts';
import { BASE_SCOPES, isLoopback, isOwnResource } from './resources.ts';

// The only file that configures `oidc-provider`, which speaks OAuth 2.1 for us.

/** Scopes that a connection can have. A connection never manages keys. */
export const CONNECTION_SCOPES: readonly Scope[] = SCOPES.filter((scope) => scope !== 'keys');

export const CONNECT_ROUTES = {
  authorization: '/oauth/authorize',
  token: '/oauth/token',
  registration: '/oauth/register',
  revocation: '/oauth/revoke',
  device_authorization: '/oauth/device',
  code_verification: '/device',
  jwks: '/oauth/jwks',
} as const;

/** The page on which a person decides. */
export const CONSENT_PATH = '/connect';

/** The client of our own command, which signs in with a code that the person types in. */
const COMMAND_CLIENT = {
  client_id: 'souk-command',
  client_name: 'Souk command',
  token_endpoint_auth_method: 'none',
  application_type: 'native',
  redirect_uris: [],
  response_types: [],
  grant_types: ['urn:ietf:params:oauth:grant-type:device_code', 'refresh_token'],
} as const;

/** Pages of the server itself, as HTML, and their headers. */
export interface ConnectPages {
  headers: Readonly<Record<string, string>>;
  /** Asks for the code of a device. @param xsrf the token that its form sends as `xsrf`, with `user_code`. */
  userCode(xsrf: string, fault: string | null): string;
  /** Asks whether this is the device, before the consent: its form also sends `confirm` or `abort`. */
  confirmDevice(xsrf: string, device: { client: string; code: string }): string;
  deviceConnected(client: string): string;
  error(message: string): string;
}

export interface ConnectDeps {
  database: Database;
  clock: Pick<Clock, 'now'>;
  log: Logger;
  secretBox: SecretBox;
  pages: ConnectPages;
  attempts: Pick<Attempts, 'countClient' | 'countAuthorization'>;
  settings: ConnectSettings;
}

export interface ConnectSettings {
  /** Allows client metadata on private addresses. */
  allowPrivate: boolean;
  /** Certificates of authorities besides those of the system. */
  ca?: string;
}

const DAY_SECONDS = DAY_MS / 1000;
const ACCESS_TOKEN_SECONDS = 3_600;
const CODE_SECONDS = 60;
const LONGEST_CONNECTION_SECONDS = 366 * DAY_SECONDS;
const DEVICE_CODE_SECONDS = 600;
/** The time a person has to sign up and to decide. */
const INTERACTION_SECONDS = 1_800;

/** Creates the authorization server. @param issuer the address of this service, in its one exact form. */
export function createProvider(issuer: string, deps: ConnectDeps): Provider {
  const provider = new Provider(issuer, configurationOf(issuer, deps));
  // The gateway sets the forwarded address and protocol of the requests that it hands over.
  provider.proxy = true;
  provider.use(async (ctx, next) => {
    ctx.set(deps.pages.headers);
    await next();
    // A client may ask for its reply as a form, which a page of the library posts to the client.
    if (ctx.path.startsWith(`${CONNECT_ROUTES.authorization}/`)) ctx.remove('content-security-policy');
    // The library lists only the scopes that are not those of a resource.
    const body = ctx.body as { scopes_supported?: unknown } | undefined;
    if (body?.scopes_supported) body.scopes_supported = CONNECTION_SCOPES;
  });
  provider.on('server_error', (ctx, error) => {
    if (isStoreDown(error)) {
      ctx.status = 503;
      ctx.set('retry-after', String(OUTAGE_RETRY_SECONDS));
      ctx.body = {
        error: 'temporarily_unavailable',
        error_description: 'a part of the service is unavailable; retry later',
      };
    } else deps.log.error({ err: error }, 'authorization server failed');
  });
  // Errors of connections: without a listener, the library prints them.
  const application: NodeJS.EventEmitter = provider;
  application.on('error', (error: Error) => deps.log.debug({ err: error }, 'connection of a client failed'));
  return provider;
}

function configurationOf(issuer: string, deps: ConnectDeps): Configuration {
  const { database, clock, secretBox } = deps;
  const onReuse = () => new errors.InvalidGrant('it was used already');
  const isSecure = issuer.startsWith('https:');
  const cookie = { httpOnly: true, sameSite: 'lax', secure: isSecure } as const;
  return {
    adapter: (kind) => openOAuthRecords({ database, clock, secretBox, onReuse }, kind),
    clients: [
      {
        ...COMMAND_CLIENT,
        redirect_uris: [],
        response_types: [],
        grant_types: [...COMMAND_CLIENT.grant_types],
      },
    ],
    clientAuthMethods: ['none', 'client_secret_basic', 'client_secret_post'],
    clientDefaults: {
      // Some metadata documents leave these out and mean a public client that stays signed in.
      token_endpoint_auth_method: 'none',
      grant_types: ['authorization_code', 'refresh_token'],
      response_types: ['code'],
      id_token_signed_response_alg: 'ES256',
    },
    extraClientMetadata: { properties: ['redirect_uris', ...IGNORED], validator: normaliseClient },
    cookies: {
      names: { session: 'souk_connect_session', interaction: 'souk_connect', resume: 'souk_connect_resume' },
      long: cookie,
      short: cookie,
    },
    // No identity tokens are issued, so no client verifies a signature; the library requires a key nevertheless.
    jwks: {
      keys: [
        generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey.export({ format: 'jwk' }),
      ] as never,
    },
    enabledJWA: { idTokenSigningAlgValues: ['ES256'] },
    scopes: ['offline_access'],
    claims: {},
    responseTypes: ['code'],
    pkce: { required: () => true },
    routes: { ...CONNECT_ROUTES },
    ttl: {
      AccessToken: ACCESS_TOKEN_SECONDS,
      AuthorizationCode: CODE_SECONDS,
      DeviceCode: DEVICE_CODE_SECONDS,
      Interaction: INTERACTION_SECONDS,
      Session: INTERACTION_SECONDS,
      // They end with the key of their connection, at the latest.
      Grant: LONGEST_CONNECTION_SECONDS,
      RefreshToken: LONGEST_CONNECTION_SECONDS,
    },
    rotateRefreshToken: true,
    issueRefreshToken: (_ctx, client) => client.grantTypeAllowed('refresh_token'),
    expiresWithSession: () => false,
    async findAccount(_ctx, id) {
      const person = await findPerson(database, Number(id));
      return person ? { accountId: id, claims: () => ({ sub: id }) } : undefined;
    },
    async loadExistingGrant(ctx) {
      const grantId = ctx.oidc.result?.consent?.grantId;
      return grantId ? ctx.oidc.provider.Grant.find(grantId) : undefined;
    },
    interactions: { policy: askEveryTime(), url: (_ctx, { uid }) => `${CONSENT_PATH}/${uid}` },
    renderError: (ctx, { error, error_description: description }) => {
      ctx.type = 'html';
      ctx.body = deps.pages.error(description ?? error);
    },
    fetch: createMetadataFetch(createAddressGuard(deps.settings.allowPrivate), deps.settings.ca),
    fetchResponseBodyLimits: { 'client_id metadata document': 16_384 },
    features: featuresOf(issuer, deps),
  };
}

function featuresOf(issuer: string, { database, pages, attempts }: ConnectDeps): Configuration['features'] {
  const off = { enabled: false };
  return {
    devInteractions: off,
    userinfo: off,
    rpInitiatedLogout: off,
    pushedAuthorizationRequests: off,
    dPoP: off,
    revocation: { enabled: true, allowedPolicy: (_ctx, client, token) => token.clientId === client.clientId },
    // ChatGPT's document prefers a method that is not offered here, and lists one that is.
    rpMetadataChoices: { enabled: true },
    registration: { enabled: true, issueRegistrationAccessToken: false },
    clientIdMetadataDocument: {
      enabled: true,
      ack: 'draft-02',
      // The library has no request for a client whose request was let in before.
      allowFetch: async (ctx: KoaContextWithOIDC | undefined, id) =>
        ctx === undefined ||
        Object.hasOwn(KNOWN_CLIENTS, id) ||
        (await isClientConnected(database, id)) ||
        (await attempts.countClient(ctx.ip)) === null,
      cacheDuration: { min: 300, max: DAY_SECONDS },
    },
    resourceIndicators: {
      enabled: true,
      defaultResource: (_ctx, _client, oneOf) => (oneOf ? (oneOf[0] ?? issuer) : issuer),
      useGrantedResource: () => true,
      getResourceServerInfo(_ctx, indicator) {
        if (!isOwnResource(indicator, issuer))
          throw new errors.InvalidTarget(`resource must be ${issuer} or ${issuer}/mcp`);
        return {
          scope: CONNECTION_SCOPES.join(' '),
          audience: issuer,
          accessTokenTTL: ACCESS_TOKEN_SECONDS,
          accessTokenFormat: 'opaque',
        };
      },
    },
    deviceFlow: {
      enabled: true,
      userCodeInputSource: (ctx, form, out, error) => {
        const session = ctx.oidc.session as { exp?: number; touched?: boolean } | undefined;
        // The library fails to keep the token of a form for a browser whose session it has not found.
        if (error && session && session.exp === undefined) {
          session.touched = false;
          return sendPage(ctx, pages.error(String(out?.error_description ?? error.message)));
        }
        return sendPage(ctx, pages.userCode(xsrfIn(form), error?.message ?? null));
      },
      userCodeConfirmSource: (ctx, form, client, _device, code) => {
        sendPage(ctx, pages.confirmDevice(xsrfIn(form), { client: nameOf(client), code }));
      },
      successSource: (ctx) => {
        sendPage(ctx, pages.deviceConnected(ctx.oidc.client ? nameOf(ctx.oidc.client) : ''));
      },
    },
  };
}

function sendPage(ctx: KoaContextWithOIDC, html: string): void {
  ctx.type = 'html';
  ctx.body = html;
}

/** Returns the token of a form that the library has written. */
function xsrfIn(form: string): string {
  return /name="xsrf" value="([\w-]+)"/.exec(form)?.[1] ?? '';
}

/** Returns the name of a client for people, without quotes, and without characters that show nothing, pile up or turn the text around. */
export function nameOf({ clientName = '', clientId }: Pick<Client, 'clientName' | 'clientId'>): string {
  const shown = clientName
    .replace(/[\p{C}\p{Z}\p{Default_Ignorable_Code_Point}\u2800“”"]+/gu, ' ')
    .replace(/(\p{M}{2})\p{M}+/gu, '$1')
    .trim();
  return Array.from(shown || clientId)
    .slice(0, 60)
    .join('');
}

/** Each authorization asks the person, who is the one that has signed in to the pages. */
function askEveryTime(): ReturnType<typeof interactionPolicy.base> {
  const { base, Check } = interactionPolicy;
  const policy = base();
  const login = policy.get('login');
  login?.checks.remove('no_session');
  login?.checks.add(
    new Check('decision', 'the person has to decide', 'interaction_required', ({ oidc }) => {
      addScopes(oidc.params as { scope?: string });
      return oidc.result?.login ? Check.NO_NEED_TO_PROMPT : Check.REQUEST_PROMPT;
    }),
  );
  return policy;
}

/** A client that names no scope of this service asks for those of its metadata. Claude may name a scope of its own. */
function addScopes(params: { scope?: string }): void {
  const asked = params.scope?.split(' ') ?? [];
  if (!CONNECTION_SCOPES.some((scope) => asked.includes(scope)))
    params.scope = [...asked, ...BASE_SCOPES].join(' ');
}

/**
 * Refuses addresses of return other than HTTPS and loopback ones. Those of apps (cursor://) are left out if there are others: Cursor
 * registers both kinds, and can return to either. A client with a loopback address may listen on any port there, whether it calls
 * itself native or not. Scopes are those that a request asks for, not those of the registration.
 */
function normaliseClient(
  _ctx: unknown,
  key: string,
  value: unknown,
  metadata: Record<string, unknown>,
): void {
  if (IGNORED.includes(key)) delete metadata[key];
  if (metadata.token_endpoint_auth_method === 'none')
    for (const name of ['client_secret', 'client_secret_expires_at']) delete metadata[name];
  if (key !== 'redirect_uris' || !Array.isArray(value)) return;
  const ofWeb = value.filter((one) => !isOfApp(one));
  if (ofWeb.length > 0) metadata.redirect_uris = ofWeb;
  const addresses = (ofWeb.length > 0 ? ofWeb : value).map(urlOf);
  const isFit = (one: URL | null) =>
    one?.protocol === 'https:' || (one?.protocol === 'http:' && isLoopback(one));
  if (addresses.length > MOST_REDIRECTS || !addresses.every(isFit))
    throw new errors.CustomOIDCProviderError(
      'invalid_redirect_uri',
      `redirect_uris must be at most ${MOST_REDIRECTS} addresses with https://, or with http:// on a loopback address`,
    );
  metadata.application_type = addresses.some((one) => one?.protocol === 'http:') ? 'native' : 'web';
}

const MOST_REDIRECTS = 20;

/** Metadata of clients without a use here: scopes are those that a request asks for, and no further documents are fetched. */
const IGNORED: readonly string[] = ['scope', 'sector_identifier_uri', 'jwks_uri'];

function urlOf(value: unknown): URL | null {
  return typeof value === 'string' && URL.canParse(value) ? new URL(value) : null;
}

/** Returns whether an address has a private-use scheme, which any program of a machine can claim. */
function isOfApp(value: unknown): boolean {
  const address = urlOf(value);
  return address !== null && !/^https?:$/.test(address.protocol);
}
