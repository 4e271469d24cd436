import type { AddressInfo } from 'node:net';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type Provider from 'oidc-provider';
import { SoukError } from '../../platform/errors.ts';
import type { RequestLimits } from '../limits/limits.ts';
import { MCP_PATH } from '../mcp/mount.ts';
import { type Consent, createConsent } from './consent.ts';
import { CONNECT_ROUTES, type ConnectDeps, createProvider } from './provider.ts';
import { challenge, isLoopback, RESOURCE_METADATA_PATH, resourceMetadata } from './resources.ts';

/** The authorization server, and what the rest of a gateway knows of it. */
export interface Connect {
  consent: Consent;
  /** The address of this service, for which tokens are issued; null: clients cannot sign in, because the address is not known. */
  issuer(): string | null;
  /** Returns the header of a refusal that tells a client how to sign in; null: it cannot. */
  challengeOf(request: FastifyRequest, about?: Parameters<typeof challenge>[1]): string | null;
  register(scope: FastifyInstance): void;
}

/**
 * Creates the authorization server of a gateway.
 * @param publicUrl the setting PUBLIC_URL. Without it, only clients of this machine can sign in, and only while the gateway
 * listens on a loopback address.
 */
export function createConnect(
  deps: ConnectDeps & { publicUrl: string | undefined; limits: Pick<RequestLimits, 'openPages'> },
): Connect {
  let app: FastifyInstance | null = null;
  let provider: Provider | null = null;

  const issuer = () => deps.publicUrl?.replace(/\/$/, '') ?? (app && loopbackAddress(app));
  const requireProvider = (): Provider => {
    const address = issuer();
    if (address === null) throw new SoukError('NOT_FOUND', { message: NOT_KNOWN });
    provider ??= createProvider(address, deps);
    return provider;
  };
  return {
    issuer,
    consent: createConsent(requireProvider, deps),
    challengeOf(request, about) {
      const address = issuer();
      if (address === null) return null;
      const path = request.url.startsWith(MCP_PATH) ? MCP_PATH : '';
      return challenge(`${originOf(request, address)}${RESOURCE_METADATA_PATH}${path}`, about);
    },
    register(scope) {
      app = scope;
      scope.register(async (open) => {
        deps.limits.openPages.limit(open);
        registerMetadata(open, issuer);
        registerProvider(open, requireProvider, deps);
      });
    },
  };
}

const NOT_KNOWN = 'Programs cannot sign in here, because the setting PUBLIC_URL is not set. Use an API key.';

/** Serves where clients sign in, and for which scopes. */
function registerMetadata(scope: FastifyInstance, issuer: Connect['issuer']): void {
  for (const path of ['', MCP_PATH]) {
    scope.get(`${RESOURCE_METADATA_PATH}${path}`, async (request) => {
      const address = issuer();
      if (address === null) throw new SoukError('NOT_FOUND', { message: NOT_KNOWN });
      return resourceMetadata(address, originOf(request, address), path);
    });
  }
}

const DISCOVERY = '/.well-known/oauth-authorization-server';

/** Hands requests over to the authorization server, which reads their bodies. */
function registerProvider(scope: FastifyInstance, provider: () => Provider, deps: ConnectDeps): void {
  scope.removeAllContentTypeParsers();
  scope.addContentTypeParser('*', (_request, _payload, done) => done(null));
  const handOver = async (request: FastifyRequest, reply: FastifyReply): Promise<void> => {
    const { raw } = request;
    const server = provider();
    raw.headers['x-forwarded-for'] = request.ip;
    raw.headers['x-forwarded-proto'] = new URL(server.issuer).protocol.slice(0, -1);
    raw.headers['x-forwarded-host'] = new URL(server.issuer).host;
    reply.hijack();
    for (const [name, value] of Object.entries(reply.getHeaders()))
      if (value !== undefined) reply.raw.setHeader(name, value);
    await server.callback()(raw, reply.raw);
  };
  const { authorization, token, registration, revocation, jwks } = CONNECT_ROUTES;
  const { code_verification: device, device_authorization: deviceCodes } = CONNECT_ROUTES;
  scope.get(DISCOVERY, handOver);
  scope.get('/.well-known/openid-configuration', handOver);
  const { countAuthorization, countClient } = deps.attempts;
  scope.get(authorization, { onRequest: limited(countAuthorization, 'asked a person') }, handOver);
  scope.get(`${authorization}/:uid`, handOver);
  scope.get(`${device}/:uid`, handOver);
  const limitDevices = limited(countAuthorization, 'asked a person');
  scope.route({ method: ['GET', 'POST'], url: device, onRequest: limitDevices, handler: handOver });
  scope.post(deviceCodes, { onRequest: limited(countAuthorization, 'asked a person') }, handOver);
  scope.post(registration, { onRequest: limited(countClient, 'registered') }, handOver);
  scope.post(token, handOver);
  scope.post(revocation, handOver);
  scope.get(jwks, handOver);
}

/** Makes a hook that limits the requests of a network. @param count returns the seconds to wait; null: the request is allowed. */
function limited(count: (address: string) => Promise<number | null>, what: string) {
  return async ({ ip }: FastifyRequest): Promise<void> => {
    const seconds = await count(ip);
    if (seconds === null) return;
    throw new SoukError('TOO_MANY_ATTEMPTS', {
      message: `Programs of this address have ${what} too often in an hour. Wait ${seconds} s.`,
      retryAfterSeconds: seconds,
    });
  };
}

/** Returns the address of a gateway that listens on a loopback address; null: it listens elsewhere, or not yet. */
function loopbackAddress({ server }: FastifyInstance): string | null {
  const listening = server.address() as AddressInfo | null;
  if (!listening) return null;
  const { address, port } = listening;
  const url = new URL(`http://${address.includes(':') ? `[${address}]` : address}:${port}`);
  return isLoopback(url) ? url.origin : null;
}

/** Returns the address that a client has used: a service on a loopback address has all names of that address. */
function originOf({ host }: FastifyRequest, issuer: string): string {
  const own = new URL(issuer);
  const given = URL.canParse(`${own.protocol}//${host}`) ? new URL(`${own.protocol}//${host}`) : own;
  return isLoopback(own) && isLoopback(given) && given.port === own.port ? given.origin : issuer;
}
