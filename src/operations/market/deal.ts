import { z } from 'zod';
import { fingerprint } from '../../fingerprint.ts';
import { defineQueued, oneSource } from '../define.ts';
import { type Domain, domain, SITES } from '../params/domain.ts';
import { request } from '../params/request.ts';
import { boolean, integer, text } from '../params/scalars.ts';
import { selectionRoutes } from '../params/selection.ts';

/** The fields of our interface; upstream knows more, which are refused here. */
const fields = {
  domainId: domain(),
  priceTypes: z
    .array(integer({ min: 0, max: 35 }), 'must be a list of exactly one price type')
    .length(1, 'must be a list of exactly one price type')
    .default([0])
    .describe('Price type: exactly one'),
  sortType: integer({ min: -4, max: 4 }).default(4).describe('Sort mode; a negative one inverts'),
  dateRange: integer({ min: 0, max: 3 }).default(1).describe('Time range'),
  page: integer({ min: 0 }).default(0).describe('Page, from 0'),
  includeCategories: categories(),
  excludeCategories: categories(),
  deltaRange: range(),
  deltaPercentRange: range(),
  deltaLastRange: range(),
  salesRankRange: range(),
  currentRange: range(),
  minRating: integer({ min: -1, max: 50 }).optional().describe('Minimum rating, stars x 10; -1: any'),
  titleSearch: text({ maxLength: 1000 }).optional().describe('Words of the title'),
  isLowest: boolean().optional(),
  isLowestOffer: boolean().optional(),
  isOutOfStock: boolean().optional(),
  isRangeEnabled: boolean().optional(),
  isFilterEnabled: boolean().optional(),
  hasReviews: boolean().optional(),
  filterErotic: boolean().optional(),
  singleVariation: boolean().optional(),
};

const params = request({ domainId: ['domainId'] }, fields, { strict: true });

export type DealInput = z.output<typeof params> & { domainId: Domain };

/** Deals as upstream sends them: `dr` is the list. */
export type Deals = Record<string, unknown>;

export const deal = defineQueued<'market.deal', DealInput, Deals>({
  name: 'market.deal',
  summary: 'Browses products with a recent price change, up to 150 a call.',
  routes: selectionRoutes('/api/market/deal', '/api/market/deals'),
  params,
  price: { text: '5', quote: () => 5 },
  pools: ['market'],
  queue: () => 'market',
  source: (input) => oneSource(`deal/${fingerprint(input)}`),
  respond: {
    type: 'json',
    present: (found, { domainId }) => ({
      data: { country: SITES[domainId], domainId, deals: found.get('') ?? { dr: [] } },
    }),
  },
});

function categories() {
  const wanted = 'must be a list of at most 500 category ids';
  return z
    .array(integer({ min: 0 }), wanted)
    .max(500, wanted)
    .transform((ids) => [...new Set(ids)].sort((a, b) => a - b))
    .optional();
}

function range() {
  const wanted = 'must be [min, max]';
  return z.tuple([integer(), integer()], wanted).optional();
}
