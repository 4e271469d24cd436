import { z } from 'zod';
import { fingerprint } from '../../platform/fingerprint.ts';
import { SCHEMA_NAMES, site, words } from '../answers.ts';
import { defineQueued, oneSource } from '../define.ts';
import { formOf } from '../params/answer-form.ts';
import { type Domain, domainId, SITES } from '../params/domain.ts';
import { request, selectionRoutes } from '../params/request.ts';
import {
  boolean,
  categoryId,
  integer,
  integerOf,
  listProblem,
  oneOfNumbers,
  text,
} from '../params/scalars.ts';
import { isoTimes, reader } from '../products/decode-product.ts';
import { currencyDigits, NAMED_SERIES } from '../products/history.ts';
import { PROVIDER_DEAL_FIELDS } from '../products/provider-fields.ts';
import { columnsFrom } from '../tables/columns.ts';

const ONE_PRICE_TYPE = listProblem('must be a list of exactly one price type');

/** The price types of deals, by index of the series. The provider has no deals for the other series. */
const PRICE_TYPES = [0, 1, 2, 3, 5, 6, 7, 8, 9, 10, 18, 19, 20, 21, 22, 32, 33] as const;

/** The provider has at most 10,000 deals for a selection, 150 on a page. */
const LAST_PAGE = Math.ceil(10_000 / 150) - 1;

/** The supported fields. Upstream has more, which are rejected here. */
const fields = {
  domainId: domainId(),
  priceTypes: z
    .array(oneOfNumbers(PRICE_TYPES), ONE_PRICE_TYPE)
    .length(1, ONE_PRICE_TYPE)
    .default([0])
    .describe('A list of exactly one price type'),
  sortType: integer({ min: -4, max: 4 })
    .default(4)
    .describe(
      'Order: 1 newest first, 2 largest price drop, 3 best sales rank, 4 largest percentage drop; negative: reversed',
    ),
  dateRange: integer({ min: 0, max: 3 })
    .default(1)
    .describe('Time range: 0 one day, 1 one week, 2 31 days, 3 90 days'),
  page: integer({ min: 0, max: LAST_PAGE }).default(0).describe('Page, from 0'),
  includeCategories: categories('Only products of these categories'),
  excludeCategories: categories('No products of these categories'),
  deltaRange: range('Price change in the time range, in cents'),
  deltaPercentRange: range('Price change in the time range, in percent'),
  deltaLastRange: range('Change from the previous price, in cents'),
  salesRankRange: range('Sales rank'),
  currentRange: range('Current price, in cents'),
  minRating: integer({ min: -1, max: 50 }).optional().describe('Minimum rating, stars x 10; -1: any rating'),
  titleSearch: text({ maxLength: 1000 })
    .optional()
    .meta({ description: 'Words in the title', examples: ['garlic press'] }),
  isLowest: boolean().optional().describe('Only products at their lowest price ever'),
  isLowestOffer: boolean().optional().describe('Only products whose lowest offer is the lowest ever'),
  isOutOfStock: boolean().optional().describe('Only products that recently went out of stock'),
  isRangeEnabled: boolean().optional().describe('Whether to apply the ranges'),
  isFilterEnabled: boolean().optional().describe('Whether to apply the other filters'),
  hasReviews: boolean().optional().describe('Only products with reviews'),
  filterErotic: boolean().optional().describe('Exclude adult products'),
  singleVariation: boolean().optional().describe('Return one product of each variation family'),
};

const params = request({ domainId: ['domainId'] }, fields);

export type DealInput = z.output<typeof params>;

/** Deals as upstream sends them: `dr` is the list. */
export type Deals = Record<string, unknown>;

const deals = z
  .looseObject({
    dr: z.array(
      z
        .looseObject({ asin: words('ASIN').optional(), title: words('Title').nullish() })
        .describe(
          'A deal as the provider sends it; lists such as current and delta have one entry per price type',
        )
        .register(SCHEMA_NAMES, { id: 'Deal' }),
    ),
  })
  .describe('Deals as the provider sends them');

const OF_TYPE = 'of the price type: prices in the currency of the site';

const TABLE_COLUMNS = columnsFrom({
  asin: ['text', 'ASIN'],
  country: ['text', 'Site code, such as us'],
  title: ['text', 'Title'],
  current: ['number', `Current value ${OF_TYPE}`],
  deltaLast: ['number', `Change from the previous value ${OF_TYPE}`],
  delta: ['number', `Change in the time range ${OF_TYPE}`],
  deltaPercent: ['number', 'Change in the time range, in percent'],
  avg: ['number', `Mean in the time range ${OF_TYPE}`],
  currentSince: ['time', 'Since when the current value applies'],
  rootCat: ['integer', 'Id of the root category'],
  creationDate: ['time', 'When the provider found the deal'],
  lastUpdate: ['time', 'When the provider last updated the product'],
});

export const deal = defineQueued<'market.deal', DealInput, Deals>({
  name: 'market.deal',
  summary: 'Lists products with a recent price change, at most 150 per call.',
  toolHint: 'Filters are in cents and stars x 10.',
  tool: 'market_find_deals',
  toolset: 'deals',
  routes: selectionRoutes(['/api/market/deal', '/api/market/deals']),
  params,
  price: { text: '5', quote: () => 5 },
  pools: ['market'],
  source: (input) => oneSource(`deal/${fingerprint(input)}`),
  toolData(data, { priceTypes, dateRange, ...input }) {
    const { dr } = (data.deals ?? {}) as Deals;
    // Only the input says which of the values of a deal are those of the answer.
    if (!Array.isArray(dr) || priceTypes === undefined || dateRange === undefined) return data;
    const domain = data.domainId as Domain;
    const rows = dr.map((one) =>
      readableDeal(dealRow(one, { priceTypes, dateRange }), domain, priceTypes[0]),
    );
    return { ...data, deals: { dr: formOf(input).fields ? rows : rows.map(withColumns) } };
  },
  tables: {
    deals: {
      columns: () => TABLE_COLUMNS,
      *rows({ deals, country, domainId }, input) {
        const domain = domainId as Domain;
        for (const one of (deals as Deals).dr as Record<string, unknown>[])
          yield { ...readableDeal(dealRow(one, input), domain, input.priceTypes[0]), country };
      },
    },
  },
  respond: {
    type: 'json',
    records: { path: 'deals.dr', providerFields: PROVIDER_DEAL_FIELDS },
    answer: z.object({ ...site(), deals }),
    present: (found, { domainId }) => ({
      data: { country: SITES[domainId], domainId, deals: found.get('') ?? { dr: [] } },
    }),
  },
});

/** Returns a deal as a flat row, with the values of the requested price type and time range. */
function dealRow(
  one: Record<string, unknown>,
  { priceTypes, dateRange }: Pick<DealInput, 'priceTypes' | 'dateRange'>,
): Record<string, unknown> {
  const [type = 0] = priceTypes;
  const at = (list: unknown, index: number): unknown => (Array.isArray(list) ? list[index] : undefined);
  const row = { ...one };
  for (const name of ['current', 'currentSince', 'deltaLast']) row[name] = at(one[name], type);
  for (const name of ['delta', 'deltaPercent', 'avg']) row[name] = at(at(one[name], dateRange), type);
  return row;
}

/** Returns a row with its values in common units. A delta may be negative. */
function readableDeal(
  row: Record<string, unknown>,
  domain: Domain,
  type: number = 0,
): Record<string, unknown> {
  const kind = NAMED_SERIES[type]?.kind ?? 'count';
  const digits = currencyDigits(domain);
  const unit = { price: 10 ** digits, stars: 10, count: 1 }[kind];
  const read = reader(kind, digits);
  const decoded = {
    ...row,
    ...isoTimes(row, ['currentSince', 'creationDate', 'lastUpdate', 'lightningStart', 'lightningEnd']),
    ...Object.fromEntries(['current', 'avg'].map((name) => [name, read(row[name])])),
    ...Object.fromEntries(
      ['delta', 'deltaLast'].map((name) => [name, typeof row[name] === 'number' ? row[name] / unit : null]),
    ),
  };
  // Fields that were not selected are absent.
  return Object.fromEntries(Object.entries(decoded).filter(([name]) => row[name] !== undefined));
}

const TOOL_COLUMNS = ['asin', 'title', 'current', 'delta', 'deltaPercent', 'avg', 'currentSince', 'rootCat'];

function withColumns(row: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(TOOL_COLUMNS.map((name) => [name, row[name] ?? null]));
}

/** Returns the body of the upstream request, with all category ids as numbers. */
export function dealSelection({ includeCategories, excludeCategories, ...others }: DealInput) {
  return {
    ...others,
    includeCategories: includeCategories?.map(integerOf),
    excludeCategories: excludeCategories?.map(integerOf),
  };
}

function categories(description: string) {
  const fault = listProblem('must be a list of at most 500 category ids');
  return z
    .array(categoryId(), fault)
    .max(500, fault)
    .transform((ids) => [...new Set(ids)].sort((a, b) => (integerOf(a) < integerOf(b) ? -1 : 1)))
    .optional()
    .meta({ description, examples: [[100000, 200000]] });
}

function range(description: string) {
  const fault = listProblem('must be [min, max]');
  return z
    .tuple([integer(), integer()], fault)
    .refine(([min, max]) => min <= max, {
      error: ({ input }) => `must be [min, max] with min not above max, got [${String(input)}]`,
    })
    .optional()
    .meta({ description: `${description}: [min, max]`, examples: [[0, 5000]] });
}
