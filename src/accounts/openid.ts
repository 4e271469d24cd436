import {
  AuthorizationResponseError,
  allowInsecureRequests,
  authorizationCodeGrant,
  buildAuthorizationUrl,
  ClientError,
  ClientSecretBasic,
  ClientSecretPost,
  Configuration,
  calculatePKCECodeChallenge,
  clockSkew,
  clockTolerance,
  discovery,
  fetchUserInfo,
  ResponseBodyError,
  randomNonce,
  randomPKCECodeVerifier,
  randomState,
  type ServerMetadata,
} from 'openid-client';
import { z } from 'zod';
import { type Clock, systemClock } from '../platform/clock.ts';
import { createSecretBox } from '../platform/secret-box.ts';
import { INSTALLATION_ROLES, type InstallationRole } from './people.ts';
import type { Identity } from './single-sign-on.ts';

/** The settings OIDC_*. */
export interface OpenIdSettings {
  issuer: string;
  clientId: string;
  clientSecret: string;
  /** The name of the provider on pages. */
  name: string;
  /** In lower case; empty: all domains. */
  allowedDomains: readonly string[];
  /** Whether people without a profile get one, with an account. */
  hasNewPeople: boolean;
  /** The claim that gives roles in the installation; null: none does. */
  roleClaim: string | null;
}

/** A sign-in failed. The message is public. */
export class OpenIdFailed extends Error {
  /** 503: because of the provider, or of the settings. */
  readonly status: 400 | 403 | 503;
  /** For the log, without tokens and claims. */
  readonly reason: string;

  constructor(status: 400 | 403 | 503, message: string, cause?: unknown) {
    super(message);
    this.status = status;
    this.reason = cause === undefined ? message : reasonOf(cause);
  }
}

/** The messages of an error and of its causes. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return 'unknown';
  const said =
    error instanceof ResponseBodyError ? ` (${error.error}: ${error.error_description ?? ''})` : '';
  return error.message + said + (error.cause instanceof Error ? `: ${reasonOf(error.cause)}` : '');
}

/** Somebody whom the provider has signed in. */
export interface SignedIn {
  identity: Identity;
  /** The role that the claim of OIDC_ROLE_CLAIM names; null: none. */
  role: InstallationRole | null;
  /** The path that the visitor wanted to see, as it was given. */
  to: string;
}

/** How long a visitor may take at the provider. */
export const OPENID_SECONDS = 600;

/** Each request to the provider. */
const TIMEOUT_SECONDS = 5;

/** How much the clock of the provider may differ. */
const TOLERANCE_SECONDS = 60;

const METADATA_LIFETIME_MS = 3_600_000;

/** What the cookie keeps of a sign-in. Only this browser can finish it, and only at the address that began it. */
const begun = z.object({
  state: z.string(),
  nonce: z.string(),
  verifier: z.string(),
  to: z.string(),
  endsAt: z.number(),
});

const PURPOSE = 'sign-in by OpenID Connect';

/**
 * Signs people in through the OpenID Connect provider of the settings. Its metadata is loaded at the first sign-in, so that the service
 * starts without the provider.
 */
export function createOpenId(settings: OpenIdSettings, clock: Clock) {
  const { issuer, clientId, clientSecret, name } = settings;
  // All gateways know the secret, so each opens the cookies of the others.
  const box = createSecretBox([clientSecret]);
  const serverMetadata = createMetadata(settings, clock);

  async function configuration(): Promise<Configuration> {
    const server = await serverMetadata();
    const skew = Math.round((clock.now() - systemClock.now()) / 1000);
    const client = { [clockSkew]: skew, [clockTolerance]: TOLERANCE_SECONDS };
    const methods = server.token_endpoint_auth_methods_supported ?? ['client_secret_basic'];
    const authenticate = methods.includes('client_secret_post') ? ClientSecretPost : ClientSecretBasic;
    const config = new Configuration(server, clientId, client, authenticate(clientSecret));
    config.timeout = TIMEOUT_SECONDS;
    if (isInsecure(issuer)) allowInsecureRequests(config);
    return config;
  }

  return {
    settings,
    /** @returns the address of the provider, and the cookie with which the browser comes back. @throws OpenIdFailed. */
    async begin(redirectUri: string, to: string) {
      const config = await configuration().catch((error) => fail(name, error));
      const [state, nonce, verifier] = [randomState(), randomNonce(), randomPKCECodeVerifier()];
      const address = buildAuthorizationUrl(config, {
        redirect_uri: redirectUri,
        scope: 'openid email profile',
        state,
        nonce,
        code_challenge: await calculatePKCECodeChallenge(verifier),
        code_challenge_method: 'S256',
      });
      const endsAt = clock.now() + OPENID_SECONDS * 1000;
      const kept: z.output<typeof begun> = { state, nonce, verifier, to, endsAt };
      return { address: address.href, cookie: box.seal(JSON.stringify(kept), PURPOSE) };
    },

    /** @param returned the address to which the provider sent the browser. @throws OpenIdFailed. */
    async finish(returned: URL, cookie: string | undefined): Promise<SignedIn> {
      const kept = readCookie(cookie);
      if (kept === null || kept.endsAt <= clock.now()) throw spent(name);
      const { state: expectedState, nonce: expectedNonce, verifier: pkceCodeVerifier, to } = kept;
      try {
        const config = await configuration();
        const checks = { expectedState, expectedNonce, pkceCodeVerifier };
        const tokens = await authorizationCodeGrant(config, returned, { ...checks, idTokenExpected: true });
        const token = tokens.claims();
        if (token === undefined) throw spent(name);
        // The library refuses expired tokens, but not those of the future.
        if (token.iat > clock.now() / 1000 + TOLERANCE_SECONDS) throw wrongClock(name);
        const claims = hasAll(settings, token)
          ? token
          : { ...token, ...(await userInfoOf(config, tokens.access_token, token.sub)) };
        const identity = identityOf(token.iss, claims);
        requireDomain(settings, identity.email);
        return { identity, role: roleIn(settings, claims), to };
      } catch (error) {
        return fail(name, error);
      }
    },
  };

  /** The cookie may be of another sign-in, of an earlier secret, or made up. */
  function readCookie(cookie: string | undefined): z.output<typeof begun> | null {
    const opened = cookie?.startsWith(box.prefix ?? ' ') ? box.open(cookie, PURPOSE) : null;
    return opened === null ? null : begun.parse(JSON.parse(opened));
  }
}

export type OpenId = ReturnType<typeof createOpenId>;

/** Returns a function that loads the provider's metadata, and loads it again when it is an hour old. Callers share a request. */
function createMetadata({ issuer, clientId }: OpenIdSettings, clock: Clock): () => Promise<ServerMetadata> {
  let known: { server: ServerMetadata; at: number } | null = null;
  let loading: Promise<ServerMetadata> | null = null;

  async function load(): Promise<ServerMetadata> {
    const execute = isInsecure(issuer) ? [allowInsecureRequests] : [];
    const options = { timeout: TIMEOUT_SECONDS, execute };
    const found = await discovery(new URL(issuer), clientId, undefined, undefined, options);
    known = { server: found.serverMetadata(), at: clock.now() };
    return known.server;
  }

  return async () => {
    if (known && clock.now() - known.at < METADATA_LIFETIME_MS) return known.server;
    loading ??= load().finally(() => {
      loading = null;
    });
    return loading;
  };
}

/** The setting allows this on the own machine only. */
function isInsecure(issuer: string): boolean {
  return issuer.startsWith('http:');
}

type Claims = Readonly<Record<string, unknown>>;

/** Whether the ID token has all that is needed. Many providers name the address and the groups at the UserInfo endpoint only. */
function hasAll({ roleClaim }: OpenIdSettings, token: Claims): boolean {
  return ['email', 'email_verified', ...(roleClaim === null ? [] : [roleClaim])].every(
    (claim) => token[claim] !== undefined,
  );
}

async function userInfoOf(config: Configuration, accessToken: string, subject: string): Promise<Claims> {
  if (config.serverMetadata().userinfo_endpoint === undefined) return {};
  return fetchUserInfo(config, accessToken, subject);
}

const emailAddress = z.string().trim().toLowerCase().max(254).pipe(z.email());

function identityOf(issuer: string, claims: Claims): Identity {
  const email = emailAddress.safeParse(claims.email);
  const name = typeof claims.name === 'string' ? claims.name.trim().slice(0, 100) : '';
  return {
    issuer,
    subject: String(claims.sub),
    email: email.success && claims.email_verified === true ? email.data : null,
    name: name || (email.data?.split('@')[0] ?? 'New account'),
  };
}

/** @throws OpenIdFailed unless the provider has verified an address of an allowed domain. */
function requireDomain({ allowedDomains, name }: OpenIdSettings, email: string | null): void {
  if (allowedDomains.length === 0 || (email !== null && allowedDomains.includes(email.split('@')[1] ?? '')))
    return;
  const message = `This service accepts addresses of ${allowedDomains.join(', ')} that ${name} has verified.`;
  throw new OpenIdFailed(403, message);
}

/** The claim is a text or a list. Of several roles, the first in the order of the list counts. */
function roleIn({ roleClaim }: OpenIdSettings, claims: Claims): InstallationRole | null {
  const given = roleClaim === null ? [] : [claims[roleClaim]].flat();
  return INSTALLATION_ROLES.find((role) => given.includes(role)) ?? null;
}

/** The codes of answers that do not belong to the sign-in: another state, issuer, audience or nonce. */
const FOREIGN = new Set(['OAUTH_INVALID_RESPONSE', 'OAUTH_JWT_CLAIM_COMPARISON_FAILED']);

/** @throws OpenIdFailed with a sentence for the visitor. */
function fail(name: string, error: unknown): never {
  if (error instanceof OpenIdFailed) throw error;
  if (error instanceof AuthorizationResponseError)
    throw new OpenIdFailed(403, `${name} did not sign you in.`, error);
  const code = error instanceof ClientError ? (error.code ?? '') : '';
  if (code === 'OAUTH_JWT_TIMESTAMP_CHECK_FAILED') throw wrongClock(name, error);
  const isSpent = error instanceof ResponseBodyError && error.error === 'invalid_grant';
  if (isSpent || FOREIGN.has(code)) throw spent(name, error);
  throw new OpenIdFailed(
    503,
    `${name} does not answer as it should. Try again in a few minutes, or sign in with your password.`,
    error,
  );
}

function spent(name: string, cause?: unknown): OpenIdFailed {
  const message = `This sign-in with ${name} was used before, has expired or began in another browser. Start again.`;
  return new OpenIdFailed(400, message, cause);
}

function wrongClock(name: string, cause?: unknown): OpenIdFailed {
  const message = `The clock of ${name} differs from that of this service by more than a minute. Inform the operator.`;
  return new OpenIdFailed(503, message, cause);
}
