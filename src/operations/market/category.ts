import { z } from 'zod';
import { category as categoryRecord, largeId, site } from '../answers.ts';
import { defineQueued, oneSource, type Source } from '../define.ts';
import { mayLackFields } from '../params/answer-form.ts';
import { DOMAIN_NAMES, type Domain, domain, SITES } from '../params/domain.ts';
import { request } from '../params/request.ts';
import { boolean, categoryId, type ExactInteger, text } from '../params/scalars.ts';
import { readableAverages } from '../products/decode-product.ts';
import { PROVIDER_CATEGORY_FIELDS } from '../products/provider-fields.ts';
import { columnsFrom } from '../tables/columns.ts';

/** A category as upstream sends it. Its id may exceed 2^53. */
export interface Category {
  catId: number | bigint;
  name: string;
  children?: readonly (number | bigint)[] | null;
  [field: string]: unknown;
}

const FOUND_COLUMNS = columnsFrom({
  catId: ['integer', 'Id of the category node; may exceed 2^53'],
  country: ['text', 'Site code, such as us'],
  name: ['text', 'Name'],
});

const CATEGORY_COLUMNS = [
  ...FOUND_COLUMNS,
  ...columnsFrom({
    parent: ['integer', 'Id of the parent category; 0 for a root'],
    productCount: ['integer', 'Number of products, estimated by the provider'],
    highestRank: ['integer', 'Highest sales rank of a product, estimated by the provider'],
    lowestRank: ['integer', 'Lowest sales rank of a product, estimated by the provider'],
  }),
];

/** The most subcategories that a call returns. */
const MOST_CHILDREN = 50;

/** The provider returns up to this many categories for a token. */
export const CATEGORIES_A_TOKEN = 10;

export const category = defineQueued({
  name: 'market.category',
  summary: 'Returns a category, or all root categories of a site.',
  tool: 'market_get_category',
  toolset: 'categories',
  routes: [{ method: 'GET', path: '/api/market/category' }],
  params: request(
    { domain: DOMAIN_NAMES },
    {
      domain: domain(),
      category: categoryId().meta({
        description: 'Category node id; 0: all root categories',
        examples: [100000],
      }),
      parents: boolean().default(false).describe('Include the parent categories'),
      children: boolean()
        .optional()
        .transform((children) => children || undefined)
        .describe(`Include the subcategories, up to ${MOST_CHILDREN}; not with category 0`),
    },
  ).refine(({ category, children }) => category !== 0 || !children, {
    path: ['children'],
    error: 'must not be sent with category 0, which returns all root categories; send the id of one of them',
  }),
  price: {
    text: `1, and with children 1 per ${CATEGORIES_A_TOKEN} subcategories, at most ${unitsOf(MOST_CHILDREN)}`,
    quote: ({ children }) => unitsOf(children ? MOST_CHILDREN : 0),
    settle: ({ children, category }, { data }) => {
      const categories = data.categories as Record<string, Category>;
      const returned = childCategories(categories, category).filter((id) => categories[id]);
      return unitsOf(children ? returned.length : 0);
    },
  },
  pools: ['market'],
  source: ({ domain, category, parents }) =>
    oneSource(`category/${domain}/${category}${parents ? '/parents' : ''}`),
  toolData(data, input) {
    const all = Object.values(data.categories as Record<string, Category>);
    const isSelected = mayLackFields(input);
    const categories = all.map((one) =>
      readableCategory(one, data.domainId as Domain, isSelected || all.length === 1),
    );
    return { ...data, categories };
  },
  tables: {
    categories: {
      columns: () => CATEGORY_COLUMNS,
      *rows({ categories, country }) {
        for (const one of Object.values(categories as Record<string, Category>)) yield { ...one, country };
      },
    },
  },
  respond: {
    type: 'json',
    records: { path: 'categories', providerFields: PROVIDER_CATEGORY_FIELDS },
    answer: z.object({
      ...site(),
      categories: z.record(z.string(), categoryRecord).describe('Categories by id'),
    }),
    present: (found: ReadonlyMap<string, Record<string, Category>>, { domain }) => ({
      data: { country: SITES[domain], domainId: domain, categories: Object.assign({}, ...found.values()) },
    }),
  },
});

/** Returns a category in common units. @param isWhole whether to list its subcategories, or to count them. */
function readableCategory(
  { children, ...record }: Category,
  domain: Domain,
  isWhole: boolean,
): Record<string, unknown> {
  return {
    ...record,
    ...readableAverages(record, domain),
    ...(children ? (isWhole ? { children } : { childrenCount: children.length }) : {}),
  };
}

/** Returns one source for each category, the same as a call for this category alone. */
export function categorySources(domain: Domain, ids: readonly string[]): readonly Source[] {
  return ids.map((id) => ({ key: id, identity: `category/${domain}/${id}` }));
}

/** Returns the ids of the subcategories of a category that a call returns. */
export function childCategories(
  categories: Readonly<Record<string, Category>> | undefined,
  category: ExactInteger,
): string[] {
  return (categories?.[String(category)]?.children ?? []).slice(0, MOST_CHILDREN).map(String);
}

/** Returns the price of a category with its subcategories. */
function unitsOf(children: number): number {
  return 1 + Math.ceil(children / CATEGORIES_A_TOKEN);
}

export const categorySearch = defineQueued({
  name: 'market.categorysearch',
  summary: 'Searches categories by keyword.',
  tool: 'market_search_categories',
  toolset: 'categories',
  routes: [
    { method: 'GET', path: '/api/market/categorysearch' },
    { method: 'GET', path: '/api/market/search', type: 'category' },
  ],
  params: request(
    { domain: DOMAIN_NAMES },
    {
      domain: domain(),
      term: text({ maxLength: 500 }).meta({ description: 'Keywords; all must match', examples: ['kitchen'] }),
    },
  ),
  price: { text: '1', quote: () => 1 },
  pools: ['market'],
  source: ({ domain, term }) => oneSource(`categorysearch/${domain}/${encodeURIComponent(term)}`),
  tables: {
    categories: {
      columns: () => FOUND_COLUMNS,
      *rows({ categories, country }) {
        for (const one of categories as Category[]) yield { ...one, country };
      },
    },
  },
  respond: {
    type: 'json',
    records: { path: 'categories' },
    answer: z.object({
      ...site(),
      categories: z.array(z.object({ catId: largeId('Category node id'), name: z.string() })),
    }),
    present: (found: ReadonlyMap<string, Record<string, Category>>, { domain }) => {
      const categories = Object.values(found.get('') ?? {}).map(({ catId, name }) => ({ catId, name }));
      return { data: { country: SITES[domain], domainId: domain, categories } };
    },
  },
});
