import type { IncomingMessage, ServerResponse } from 'node:http';
import type Provider from 'oidc-provider';
import { errors } from 'oidc-provider';
import { type ConnectionSettings, createConnection } from '../../accounts/connections.ts';
import type { Scope } from '../../accounts/key-settings.ts';
import { decideOnce } from '../../accounts/oauth-records.ts';
import type { Clock } from '../../platform/clock.ts';
import type { Database } from '../../platform/db/pool.ts';
import { CONNECTION_SCOPES, nameOf } from './provider.ts';
import { BASE_SCOPES } from './resources.ts';

/** A browser's request that belongs to an authorization, by its cookie. */
export interface Exchange {
  request: IncomingMessage;
  reply: ServerResponse;
}

/** What a client asks a person for. */
export interface ConnectionRequest {
  /** As the client calls itself. */
  clientName: string;
  /** The host that publishes the description of the client; null: the client has registered itself. */
  publishedAt: string | null;
  /** The origin to which the browser returns, and its host; null: a device. */
  returnsTo: { origin: string; host: string } | null;
  scopes: readonly Scope[];
}

/** What a person allows. */
export interface Decision {
  personId: number;
  /** Whether the account may require a session by OpenID Connect. */
  mayLackSso: boolean;
  accountId: number;
  settings: ConnectionSettings & { scopes: readonly Scope[] };
}

/** Lets a person decide what a client may do. */
export interface Consent {
  /** Returns what the client of the browser's authorization asks for; null if it has expired or been decided. */
  requestOf(exchange: Exchange): Promise<ConnectionRequest | null>;
  /**
   * Creates the connection.
   * @returns the address to which the browser goes on, and the id of the key.
   * @throws SoukError KEY_FORBIDDEN if the person may not connect the account; LIMIT_REACHED.
   */
  allow(exchange: Exchange, decision: Decision): Promise<{ address: string; keyId: number } | null>;
  /** @param reason for the client. @returns the address to which the browser goes on; null as above. */
  deny(exchange: Exchange, reason?: string): Promise<string | null>;
}

export function createConsent(
  provider: () => Provider,
  { database, clock }: { database: Database; clock: Pick<Clock, 'now'> },
): Consent {
  return {
    async requestOf(exchange) {
      const found = await interactionOf(provider(), exchange);
      return found?.request ?? null;
    },
    async allow(exchange, { personId, mayLackSso, accountId, settings }) {
      const found = await interactionOf(provider(), exchange);
      if (!found) return null;
      const now = clock.now();
      const { clientId, params, request } = found;
      const grant = new (provider().Grant)({ accountId: String(personId), clientId });
      const allowed = (scope: Scope) => settings.scopes.includes(scope);
      grant.addOIDCScope('offline_access');
      for (const resource of resourcesOf(provider().issuer, params)) {
        grant.addResourceScope(resource, CONNECTION_SCOPES.filter(allowed).join(' '));
        grant.rejectResourceScope(resource, CONNECTION_SCOPES.filter((scope) => !allowed(scope)).join(' '));
      }
      // It works for as long as the key of the connection.
      const grantId = await grant.save();
      const { clientName: name, returnsTo } = request;
      const client = { id: clientId, name, redirectHost: returnsTo?.host ?? null };
      const about = { settings, personId, mayLackSso, grantId, requestId: found.requestId, client, now };
      const keyId = await createConnection(database, accountId, about).catch(async (error: unknown) => {
        await grant.destroy();
        throw error;
      });
      if (keyId === null) {
        await grant.destroy();
        return null;
      }
      const result = { login: { accountId: String(personId), remember: false }, consent: { grantId } };
      const address = await provider().interactionResult(exchange.request, exchange.reply, result);
      return { address, keyId };
    },
    async deny(exchange, reason = 'The person has refused.') {
      const found = await interactionOf(provider(), exchange);
      if (!found || !(await decideOnce(database, found.requestId, clock.now()))) return null;
      const result = { error: 'access_denied', error_description: reason };
      return provider().interactionResult(exchange.request, exchange.reply, result, {
        mergeWithLastSubmission: false,
      });
    },
  };
}

type Parameters = Readonly<Record<string, unknown>>;

async function interactionOf(provider: Provider, { request, reply }: Exchange) {
  try {
    const { params, jti: requestId } = await provider.interactionDetails(request, reply);
    const clientId = String(params.client_id);
    const client = await provider.Client.find(clientId);
    if (!client) return null;
    const redirect = typeof params.redirect_uri === 'string' ? new URL(params.redirect_uri) : null;
    const asked = (typeof params.scope === 'string' ? params.scope : '').split(' ');
    const scopes = CONNECTION_SCOPES.filter((scope) => asked.includes(scope));
    const found: ConnectionRequest = {
      clientName: nameOf(client),
      publishedAt: URL.canParse(clientId) ? new URL(clientId).host : null,
      returnsTo: redirect && { origin: redirect.origin, host: redirect.host },
      scopes: scopes.length > 0 ? scopes : BASE_SCOPES,
    };
    return { requestId, clientId, params: params as Parameters, request: found };
  } catch (error) {
    if (error instanceof errors.OIDCProviderError) return null;
    throw error;
  }
}

function resourcesOf(issuer: string, { resource }: Parameters): string[] {
  const named = [resource ?? []].flat().map(String);
  return named.length > 0 ? named : [issuer];
}
