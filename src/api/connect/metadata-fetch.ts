import { Agent, fetch } from 'undici';
import { type AddressGuard, pinnedLookup } from '../../outbox/webhooks/address-guard.ts';
import { KNOWN_CLIENTS } from './known-clients.ts';

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
