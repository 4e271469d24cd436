import { Agent, fetch } from 'undici';
import { type AddressGuard, pinnedLookup } from '../../outbox/webhooks/address-guard.ts';

const CODE_AND_REFRESH = {
  grant_types: ['authorization_code', 'refresh_token'],
  response_types: ['code'],
  token_endpoint_auth_method: 'none',
};

const LOOPBACK = ['http://localhost/callback', 'http://127.0.0.1/callback'];

/**
 * Metadata documents as vendors published them in 2026, by their addresses: some vendors refuse requests from data centers, so that
 * their clients could not sign in there (anthropics/claude-code#84263, cloudflare/workers-oauth-provider#333). A document that can
 * be fetched has precedence. The addresses of return belong to the vendor or to the machine of the person, so that a code cannot
 * reach anybody else.
 */
export const KNOWN_CLIENTS: Readonly<Record<string, object>> = Object.fromEntries(
  Object.entries({
    'https://claude.ai/oauth/mcp-oauth-client-metadata': {
      client_name: 'Claude',
      redirect_uris: ['https://claude.ai/api/mcp/auth_callback'],
    },
    'https://claude.ai/oauth/claude-code-client-metadata': {
      client_name: 'Claude Code',
      redirect_uris: LOOPBACK,
    },
    'https://chatgpt.com/oauth/client.json': {
      client_name: 'ChatGPT',
      redirect_uris: ['https://chatgpt.com/connector_platform_oauth_redirect'],
    },
    'https://chatgpt.com/oauth/codex/client.json': { client_name: 'Codex', redirect_uris: LOOPBACK },
    'https://vscode.dev/oauth/client-metadata.json': {
      client_name: 'Visual Studio Code',
      redirect_uris: ['http://127.0.0.1:33418/', 'https://vscode.dev/redirect'],
    },
  }).map(([client_id, metadata]) => [client_id, { client_id, ...CODE_AND_REFRESH, ...metadata }]),
);

/**
 * Fetches the documents of clients from addresses that the guard allows, without following redirects. The connection goes to the
 * address that was checked. A known document that cannot be fetched is that of `KNOWN_CLIENTS`.
 * @param ca certificates of authorities besides those of the system.
 */
export function createMetadataFetch(guard: AddressGuard, ca?: string): typeof globalThis.fetch {
  const fetchDocument: typeof globalThis.fetch = async (url, options = {}) => {
    const target = new URL(url instanceof Request ? url.url : url);
    const signal = options.signal ?? AbortSignal.timeout(FETCH_TIMEOUT_MS);
    const addresses = await guard.addressesOf(target, signal);
    const dispatcher = new Agent({
      pipelining: 0,
      connect: { lookup: pinnedLookup(addresses), ...(ca === undefined ? {} : { ca }) },
    });
    const { method = 'GET', headers } = options;
    const given = { method, redirect: 'manual', signal, dispatcher, headers: new Headers(headers) } as const;
    const response = await fetch(target, given as unknown as Parameters<typeof fetch>[1]);
    return response as unknown as Response;
  };
  return async (url, options) => {
    const known = KNOWN_CLIENTS[url instanceof Request ? url.url : String(url)];
    if (!known) return fetchDocument(url, options);
    const response = await fetchDocument(url, options).catch(() => null);
    const isRefused = !response || [401, 403, 429].includes(response.status) || response.status >= 500;
    if (!isRefused) return response;
    await response?.body?.cancel();
    return Response.json(known);
  };
}

const FETCH_TIMEOUT_MS = 2_500;
