import { z } from 'zod';
import { fingerprint } from '../../platform/fingerprint.ts';
import { site } from '../answers.ts';
import { defineQueued, oneSource } from '../define.ts';
import { didYouMean } from '../faults.ts';
import { DOMAIN_NAMES, type Domain, domain, SITES } from '../params/domain.ts';
import { isRecord, request, selectionRoutes } from '../params/request.ts';
import { integer, listProblem, oneOfNumbers, problem } from '../params/scalars.ts';
import { readableAverages } from '../products/decode-product.ts';
import { type FilterValue, filters, isSortable, SORT_FIELD_PATTERN, sortableNames } from './finder-fields.ts';
import { ASIN_COLUMNS, asinRows } from './list-tables.ts';
import { otherSite, pastedSelection, siteOf } from './pasted-selection.ts';

const LARGEST_RESULT = 10_000;
const FEWEST_PER_PAGE = 50;
const SORT_FIELDS_MOST = 3;

const NAMED = new Set<string>([...DOMAIN_NAMES, 'page', 'perPage', 'sort', 'stats']);

/** Every field that is not a named parameter is a filter; `gatherFilters` collects them under one name. */
const params = z.preprocess(
  gatherFilters,
  request(
    { domain: DOMAIN_NAMES },
    {
      domain: domain(),
      page: integer({ min: 0 })
        .default(0)
        .meta({
          description: `Page, from 0; (page + 1) * perPage must be at most ${LARGEST_RESULT}`,
          maximum: LARGEST_RESULT / FEWEST_PER_PAGE - 1,
        }),
      perPage: integer({ min: FEWEST_PER_PAGE, max: LARGEST_RESULT })
        .default(FEWEST_PER_PAGE)
        .describe('ASINs per page'),
      sort: sortOrder(),
      stats: oneOfNumbers([0, 1]).default(0).describe('1: include searchInsights'),
      selection: filters([...NAMED, 'fields']),
    },
  )
    .superRefine(({ selection }, context) => {
      for (const [name, message] of emptyRanges(selection))
        context.addIssue({ code: 'custom', message, path: ['selection', name] });
    })
    .refine(({ page, perPage }) => perPage > LARGEST_RESULT || (page + 1) * perPage <= LARGEST_RESULT, {
      path: ['page'],
      error: ({ input }) => {
        const { page, perPage } = input as { page: number; perPage: number };
        return `(page + 1) * perPage must be at most ${LARGEST_RESULT}, got ${(page + 1) * perPage}`;
      },
    }),
);

/** Up to three pairs of field and direction. Default: best sales rank first. */
function sortOrder() {
  const fault = listProblem(`must be a list of at most ${SORT_FIELDS_MOST} pairs [field, "asc" or "desc"]`);
  const field = z
    .string(fault)
    .refine(isSortable, {
      error: ({ input }) =>
        `${problem('must be a field to sort by').error({ input })}${didYouMean(input as string, sortableNames())}`,
    })
    .meta({ pattern: SORT_FIELD_PATTERN, maxLength: 60 });
  return z
    .array(z.tuple([field, z.enum(['asc', 'desc'], problem('must be asc or desc'))], fault), fault)
    .max(SORT_FIELDS_MOST, fault)
    .default([['current_SALES', 'asc']])
    .meta({ description: 'Pairs of field and direction', examples: [[['monthlySold', 'desc']]] });
}

/** Returns the problems of ranges that no value is in. */
function emptyRanges(filters: Readonly<Record<string, FilterValue>>): [name: string, problem: string][] {
  return Object.entries(filters).flatMap(([name, lowest]): [string, string][] => {
    const upper = name.replace(/_gte$/, '_lte');
    const highest = upper === name ? undefined : filters[upper];
    return highest === undefined || Number(lowest) <= Number(highest)
      ? []
      : [[upper, `must not be below ${name} (${String(lowest)}), got ${String(highest)}`]];
  });
}

export type ProductFinderInput = z.output<typeof params>;

export interface FinderPage {
  asinList: string[];
  totalResults: number;
  searchInsights: unknown;
}

export const productFinder = defineQueued<'market.productfinder', ProductFinderInput, FinderPage>({
  name: 'market.productfinder',
  summary: 'Finds products that match filters.',
  toolHint: 'Filters are in cents and stars x 10; other filters of the provider are accepted.',
  tool: 'market_find_products',
  toolset: 'products',
  routes: selectionRoutes(['/api/market/productfinder', '/api/market/query'], [...DOMAIN_NAMES, 'stats']),
  params,
  invalidKind: 'SELECTION_INVALID',
  price: { text: '1, or 31 with stats', quote: ({ stats }) => (stats === 1 ? 31 : 1) },
  pools: ['market'],
  source: (input) => oneSource(`productfinder/${fingerprint(input)}`),
  toolData(data) {
    const { searchInsights } = data;
    if (!isRecord(searchInsights)) return data;
    const readable = readableAverages(searchInsights, data.domainId as Domain);
    return { ...data, searchInsights: { ...searchInsights, ...readable } };
  },
  tables: {
    asins: {
      columns: () => ASIN_COLUMNS,
      rows: ({ asinList, country }, { page, perPage }) =>
        asinRows(asinList as string[], country, page * perPage),
    },
  },
  respond: {
    type: 'json',
    answer: z.object({
      ...site(),
      asinList: z.array(z.string()).describe('ASINs of the page, in the requested order'),
      totalResultCount: z.int().min(0).describe('Number of matching products'),
      searchInsights: z
        .looseObject({})
        .nullable()
        .describe('Key figures of all matching products; null unless stats is 1'),
    }),
    present(found, { domain }) {
      const { asinList = [], totalResults = 0, searchInsights = null } = found.get('') ?? {};
      return {
        data: {
          country: SITES[domain],
          domainId: domain,
          asinList,
          totalResultCount: totalResults,
          searchInsights,
        },
      };
    },
  },
});

/**
 * Collects the filters, which stand alongside the other parameters, in `selection`, or in a pasted query there. Parameters alongside
 * win. Canonical input already has its filters collected, so parsing it again returns the same.
 */
function gatherFilters(raw: unknown, context: z.core.$RefinementCtx): unknown {
  if (!isRecord(raw)) return raw;
  const { selection, ...given } = raw;
  const inside = typeof selection === 'string' ? pastedSelection(selection, given) : { selection };
  if ('problem' in inside) {
    const path = inside.field === null ? ['selection'] : ['selection', inside.field];
    context.issues.push({ code: 'custom', message: inside.problem, input: selection, path });
    return z.NEVER;
  }
  const [ofQuery, ofCall] = [siteOf(isRecord(inside.selection) ? inside.selection : {}), siteOf(given)];
  if (ofQuery !== null && ofCall !== null && ofQuery !== ofCall) {
    context.issues.push({
      code: 'custom',
      message: otherSite(ofQuery, ofCall),
      input: selection,
      path: ['selection'],
    });
    return z.NEVER;
  }
  const all = { ...(isRecord(inside.selection) ? inside.selection : raw), ...given };
  const entries = Object.entries(all);
  return {
    ...Object.fromEntries(entries.filter(([name]) => NAMED.has(name))),
    selection: Object.fromEntries(entries.filter(([name]) => !NAMED.has(name))),
  };
}
