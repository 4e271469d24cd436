import { currencyDigits } from '../../../../operations/products/named-series.ts';
import type { Product } from '../../../../operations/products/product.ts';
import { Choice, Field } from '../../../kit/form.tsx';
import type { FormValues } from '../../../kit/form-request.ts';
import { counted } from '../../../kit/words.tsx';
import type { ExplorePage } from '../explore-page.tsx';
import { SiteChoice, siteOf } from '../site-choice.tsx';
import { viewOf } from '../view.ts';
import { AsinList, detailsView } from './asin-list.tsx';
import { type DealsData, DealsTable, dealRows } from './deals.tsx';
import { productRow } from './product-row.ts';
import { ProductTable } from './product-table.tsx';
import { type SellerData, SellerFacts, sellerAsins } from './seller.tsx';

interface SearchData {
  domainId: number;
  products: Product[];
}

/** The page that searches products by words. */
export const searchPage: ExplorePage = {
  path: '/explore/search',
  title: 'Search',
  lead: 'Products in the order of the site, without advertisements.',
  fields: (
    <>
      <SiteChoice />
      <Field name="term" label="Words" required placeholder="garlic press" maxLength={500} />
    </>
  ),
  fieldNames: ['domain', 'term'],
  fieldOf: {},
  button: 'Show the price',
  intro: 'Enter the words to search for, such as garlic press.',
  views: (values) =>
    values.term === undefined
      ? null
      : [
          viewOf<SearchData>({
            name: 'results',
            title: 'Results',
            button: 'Search',
            operation: 'market.productsearch',
            parameters: { domain: siteOf(values), term: values.term, detailLevel: 'summary' },
            show: ({ products, domainId }, context) => (
              <>
                <p>{counted(products.length, 'product')}</p>
                <ProductTable
                  rows={products.map((one) => productRow(one, domainId))}
                  domain={domainId}
                  id="results"
                  context={context}
                />
              </>
            ),
            rows: ({ products, domainId }) => products.map((one) => ({ ...productRow(one, domainId) })),
          }),
        ],
};

interface FinderData {
  domainId: number;
  asinList: string[];
  totalResultCount: number;
}

/** The filters of the finder that the form has, by field. Prices are in the smallest unit of the currency. */
const FILTERS: Readonly<Record<string, (value: string, domain: number | string) => Record<string, unknown>>> =
  {
    words: (title) => ({ title }),
    brand: (brand) => ({ brand: [brand] }),
    priceMin: (value, domain) => ({ current_NEW_gte: smallestUnits(value, domain) }),
    priceMax: (value, domain) => ({ current_NEW_lte: smallestUnits(value, domain) }),
    rankMax: (value) => ({ current_SALES_lte: numberOr(value) }),
    ratingMin: (value) => ({ current_RATING_gte: tenths(value) }),
    soldMin: (value) => ({ monthlySold_gte: numberOr(value) }),
  };

/** The page of the finder's main filters. */
export const finderPage: ExplorePage = {
  path: '/explore/finder',
  title: 'Finder',
  lead: 'Products that match all filters, best sales rank first.',
  fields: (
    <>
      <SiteChoice />
      <Field name="words" label="Words in the title" maxLength={200} />
      <Field name="brand" label="Brand" maxLength={200} />
      <Field name="priceMin" label="Price from" type="number" min={0} step={0.01} />
      <Field name="priceMax" label="Price to" type="number" min={0} step={0.01} />
      <Field name="rankMax" label="Rank up to" type="number" min={1} />
      <Field name="ratingMin" label="Stars from" type="number" min={0} max={5} step={0.1} />
      <Field name="soldMin" label="Sold in a month from" type="number" min={0} />
    </>
  ),
  fieldNames: ['domain', ...Object.keys(FILTERS)],
  fieldOf: {
    ...{ title: 'words', current_NEW_gte: 'priceMin', current_NEW_lte: 'priceMax' },
    ...{ current_SALES_lte: 'rankMax', current_RATING_gte: 'ratingMin', monthlySold_gte: 'soldMin' },
  },
  button: 'Show the price',
  intro: 'Fill in at least one filter, such as a rank up to 1000.',
  views(values) {
    const selection = selectionOf(values);
    if (Object.keys(selection).length === 0) return null;
    return [
      viewOf<FinderData>({
        name: 'found',
        title: 'Products',
        button: 'Find products',
        operation: 'market.productfinder',
        parameters: { domain: siteOf(values), ...selection },
        show: ({ asinList, totalResultCount, domainId }, context) => (
          <AsinList
            {...{ asins: asinList, total: totalResultCount, domain: domainId, id: 'found', context }}
          />
        ),
        rows: ({ asinList }) => asinList.map((asin) => ({ asin })),
        next: ({ asinList, domainId }, query) => detailsView(asinList, domainId, query),
      }),
    ];
  },
};

function selectionOf(values: FormValues): Record<string, unknown> {
  return Object.assign(
    {},
    ...Object.entries(FILTERS).map(([field, filter]) =>
      values[field] ? filter(values[field], siteOf(values)) : {},
    ),
  ) as Record<string, unknown>;
}

/** A number, or the text, which the API refuses with a reason. */
function numberOr(text: string): number | string {
  const value = Number(text);
  return Number.isFinite(value) ? value : text;
}

function smallestUnits(text: string, domain: number | string): number | string {
  const value = numberOr(text);
  return typeof value === 'number' ? Math.round(value * 10 ** currencyDigits(Number(domain))) : value;
}

function tenths(text: string): number | string {
  const value = numberOr(text);
  return typeof value === 'number' ? Math.round(value * 10) : value;
}

const PRICE_TYPES = [
  ['1', 'New'],
  ['0', 'Retailer'],
  ['2', 'Used'],
  ['18', 'Buy Box'],
] as const;

const PERIODS = [
  ['0', 'Day'],
  ['1', 'Week'],
  ['2', 'Month'],
  ['3', '3 months'],
] as const;

/** The page of products whose price has fallen. */
export const dealsPage: ExplorePage = {
  path: '/explore/deals',
  title: 'Deals',
  lead: 'Products whose price has dropped recently, the largest drop in percent first.',
  fields: (
    <>
      <SiteChoice />
      <Choice name="priceType" label="Price" options={PRICE_TYPES} preset="1" />
      <Choice name="dateRange" label="Period" options={PERIODS} preset="1" />
      <Field name="titleSearch" label="Words in the title" maxLength={200} />
    </>
  ),
  fieldNames: ['domain', 'priceType', 'dateRange', 'titleSearch'],
  fieldOf: { domainId: 'domain', priceTypes: 'priceType' },
  button: 'Show the price',
  intro: 'Choose a price and a period.',
  views(values) {
    const { priceType = '1', dateRange, titleSearch } = values;
    if (dateRange === undefined) return null;
    const words = titleSearch ? { titleSearch, isFilterEnabled: true } : {};
    return [
      viewOf<DealsData>({
        name: 'deals',
        title: 'Deals',
        button: 'Show the deals',
        operation: 'market.deal',
        parameters: {
          ...{ domainId: siteOf(values), priceTypes: [Number(priceType)], dateRange: numberOr(dateRange) },
          ...{ sortType: 4, ...words },
        },
        show: (data, context) => <DealsTable data={data} type={Number(priceType)} context={context} />,
        rows: (data) => dealRows(data, Number(priceType), numberOr(dateRange)).map((row) => ({ ...row })),
      }),
    ];
  },
};

/** The page of a seller and its storefront. */
export const sellerPage: ExplorePage = {
  path: '/explore/seller',
  title: 'Seller',
  lead: 'A seller with its ratings and the products of its storefront.',
  fields: (
    <>
      <SiteChoice />
      <Field name="seller" label="Seller id" required placeholder="A2L77EE7U53NWQ" maxLength={20} />
    </>
  ),
  fieldNames: ['domain', 'seller'],
  fieldOf: {},
  button: 'Show the price',
  intro: 'Enter the id of a seller. Offers of products link to their sellers.',
  views: (values) =>
    values.seller === undefined
      ? null
      : [
          viewOf<SellerData>({
            name: 'storefront',
            title: 'Seller and storefront',
            button: 'Show the seller',
            operation: 'market.seller',
            parameters: { domain: siteOf(values), seller: [values.seller], storefront: true, csvDays: 0 },
            show: (data, context) => <SellerFacts data={data} context={context} />,
            rows: (data) => sellerAsins(data).map((asin) => ({ asin })),
            next: (data, query) => detailsView(sellerAsins(data), data.domainId, query),
          }),
        ],
};
