import { type DealInput, type Deals, dealSelection } from '../../operations/market/deal.ts';
import { isRecord } from './envelope.ts';
import type { CallContext, KeepaTransport } from './transport.ts';

const PAGE_COST = 5;

/** Fetches one page of deals. */
export async function fetchDeals(
  keepa: KeepaTransport,
  selection: DealInput,
  context: CallContext,
): Promise<Deals> {
  const { deals } = await keepa.json(
    {
      path: 'deal',
      params: {},
      body: dealSelection(selection),
      cost: PAGE_COST,
      payload: { field: 'deals', kind: 'object', mayBeAbsent: false },
    },
    context,
  );
  return isRecord(deals) ? { ...deals, dr: deals.dr ?? [] } : { dr: [] };
}
