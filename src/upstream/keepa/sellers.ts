import type { Seller } from '../../operations/market/seller.ts';
import type { Domain } from '../../operations/params/domain.ts';
import { isRecord } from './envelope.ts';
import type { CallContext, KeepaTransport } from './transport.ts';

const SELLERS = { field: 'sellers', kind: 'object', mayBeAbsent: false } as const;
const IDS = { field: 'sellerIdList', kind: 'list', mayBeAbsent: false } as const;

const STOREFRONT_COST = 10;
const TOP_SELLERS_COST = 50;

/** Fetches sellers by id; unknown ones are absent. With a storefront upstream accepts only one id. */
export async function fetchSellers(
  keepa: KeepaTransport,
  domain: Domain,
  ids: readonly string[],
  storefront: boolean,
  context: CallContext,
): Promise<Map<string, Seller>> {
  const params = { domain, seller: ids.join(','), ...(storefront ? { storefront: 1 } : {}) };
  const cost = storefront ? STOREFRONT_COST : ids.length;
  const { sellers } = await keepa.json({ path: 'seller', params, cost, payload: SELLERS }, context);
  const known = isRecord(sellers) ? Object.entries(sellers) : [];
  return new Map(known.filter((entry): entry is [string, Seller] => isRecord(entry[1])));
}

/** Fetches the ids of a site's most rated sellers. */
export async function fetchTopSellers(
  keepa: KeepaTransport,
  domain: Domain,
  context: CallContext,
): Promise<string[]> {
  const call = { path: 'topseller', params: { domain }, cost: TOP_SELLERS_COST, payload: IDS };
  const { sellerIdList } = await keepa.json(call, context);
  return Array.isArray(sellerIdList) ? (sellerIdList as string[]) : [];
}
