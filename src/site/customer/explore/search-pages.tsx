import type { VNode } from 'preact';
import { currencyDigits } from '../../../operations/products/history.ts';
import type { Product } from '../../../operations/products/product.ts';
import { priceFormat, priceOf } from '../../../operations/products/provider-fields.ts';
import { Facts } from '../../kit/elements.tsx';
import type { FormValues } from '../../kit/form-request.ts';
import { type Column, Table } from '../../kit/table.tsx';
import { valueText } from '../../kit/time-chart.tsx';
import { count, counted } from '../../kit/words.tsx';
import {
  type ExplorePage,
  Picture,
  ProductLink,
  type ShowContext,
  SITE_FIELD,
  siteOf,
  viewOf,
} from './explore-view.tsx';
import {
  AsinList,
  detailsView,
  Pager,
  ProductTable,
  pageIn,
  productRow,
  ROWS_A_PAGE,
} from './product-lists.tsx';

interface SearchData {
  domainId: number;
  products: Product[];
}

/** The page that searches products by words. */
export const searchPage: ExplorePage = {
  path: '/explore/search',
  title: 'Search',
  lead: 'Products in the order in which the site lists them, without advertisements.',
  fields: [SITE_FIELD, ['term', 'Words', { required: true, placeholder: 'garlic press', maxLength: 500 }]],
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
          }),
        ],
};

interface FinderData {
  domainId: number;
  asinList: string[];
  totalResultCount: number;
}

/** Reads the text of a field; a text that is not valid stays as it is, and the API refuses it with a reason. */
type ReadFilter = (text: string, domain: number | string) => unknown;

/** The field of a pasted query, and its parameter. */
const PASTED = 'selection';

/** The filters of the finder that the form has. Prices are in the smallest unit of the currency. */
const FILTERS: readonly (readonly [field: string, parameter: string, read: ReadFilter])[] = [
  ['words', 'title', (text) => text],
  ['brand', 'brand', (text) => [text]],
  ['priceMin', 'current_NEW_gte', smallestUnits],
  ['priceMax', 'current_NEW_lte', smallestUnits],
  ['rankMax', 'current_SALES_lte', numberOr],
  ['ratingMin', 'current_RATING_gte', tenths],
  ['soldMin', 'monthlySold_gte', numberOr],
  [PASTED, PASTED, (text) => text],
];

/** The page of the finder's main filters. */
export const finderPage: ExplorePage = {
  path: '/explore/finder',
  title: 'Finder',
  lead: 'Products that match all filters, best sales rank first.',
  fields: [
    SITE_FIELD,
    ['words', 'Words in the title', { maxLength: 200 }],
    ['brand', 'Brand', { maxLength: 200 }],
    ['priceMin', 'Price from', { type: 'number', min: 0, step: 0.01 }],
    ['priceMax', 'Price to', { type: 'number', min: 0, step: 0.01 }],
    ['rankMax', 'Rank up to', { type: 'number', min: 1 }],
    ['ratingMin', 'Stars from', { type: 'number', min: 0, max: 5, step: 0.1 }],
    ['soldMin', 'Sold in a month from', { type: 'number', min: 0 }],
    [
      PASTED,
      'Pasted query',
      {
        maxLength: 8000,
        placeholder: '{"current_SALES_lte": 5000}',
        hint: "A query of the provider's finder: its JSON, or the address of its page. Filters of this form win.",
      },
    ],
  ],
  fieldOf: Object.fromEntries(
    FILTERS.map(([field, parameter]) => [field === PASTED ? PASTED : `selection.${parameter}`, field]),
  ),
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
            asins={asinList}
            total={totalResultCount}
            domain={domainId}
            id="found"
            context={context}
          />
        ),
        withNext: { button: 'Find them with details of the first 30', mostUnits: ROWS_A_PAGE },
        next: ({ asinList, domainId }, query) => detailsView(asinList, domainId, query),
      }),
    ];
  },
};

function selectionOf(values: FormValues): Record<string, unknown> {
  const domain = siteOf(values);
  return Object.fromEntries(
    FILTERS.flatMap(([field, parameter, read]) => {
      const text = values[field];
      return text ? [[parameter, read(text, domain)]] : [];
    }),
  );
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
  fields: [
    SITE_FIELD,
    ['priceType', 'Price', { options: PRICE_TYPES, preset: '1' }],
    ['dateRange', 'Period', { options: PERIODS, preset: '1' }],
    ['titleSearch', 'Words in the title', { maxLength: 200 }],
  ],
  fieldOf: { domainId: 'domain', priceTypes: 'priceType' },
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
          domainId: siteOf(values),
          priceTypes: [Number(priceType)],
          dateRange: numberOr(dateRange),
          sortType: 4,
          ...words,
        },
        show: (data, context) => <DealsTable data={data} type={Number(priceType)} context={context} />,
      }),
    ];
  },
};

/** The page of a seller and its storefront. */
export const sellerPage: ExplorePage = {
  path: '/explore/seller',
  title: 'Seller',
  lead: 'A seller with its ratings and the products of its storefront.',
  fields: [
    SITE_FIELD,
    ['seller', 'Seller id', { required: true, placeholder: 'A2L77EE7U53NWQ', maxLength: 20 }],
  ],
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
            withNext: { button: 'Show it with details of 30 products', mostUnits: ROWS_A_PAGE },
            next: (data, query) => detailsView(sellerAsins(data), data.domainId, query),
          }),
        ],
};

/** The data of the deals call. */
interface DealsData {
  domainId: number;
  deals: { dr: Deal[] };
}

/** Lists have one entry for each type of price; `delta` lists have one list for each period. */
interface Deal {
  asin: string;
  title?: string | null;
  /** Character codes of a file name. */
  image?: number[] | null;
  current?: number[];
  delta?: number[][];
  deltaPercent?: number[][];
}

interface DealRow {
  asin: string;
  title: string | null;
  image: string | null;
  price: number | null;
  fall: number | null;
  percent: number | null;
}

export function dealRows({ deals, domainId }: DealsData, type: number, period: unknown): DealRow[] {
  const span = Number(period);
  return deals.dr.map(({ asin, title = null, image, current, delta, deltaPercent }) => ({
    asin,
    title,
    image: image ? String.fromCharCode(...image) : null,
    price: priceOf(current?.[type], domainId),
    fall: priceOf(delta?.[span]?.[type], domainId),
    percent: deltaPercent?.[span]?.[type] ?? null,
  }));
}

/** Products whose price has fallen, thirty at a time. */
function DealsTable(props: { data: DealsData; type: number; context: ShowContext }): VNode {
  const { data, type, context } = props;
  const { domainId } = data;
  const format = priceFormat(domainId);
  const page = pageIn(dealRows(data, type, context.query.dateRange), context.query);
  const columns: Column<DealRow>[] = [
    ['Picture', ({ image }) => <Picture host={context.imageCdnUrl} name={image} size={56} />],
    ['Product', ({ asin, title }) => <ProductLink domain={domainId} asin={asin} title={title} />, 'row'],
    ['Price', ({ price }) => valueText(price, format), 'number'],
    ['Price drop', ({ fall }) => valueText(fall, format), 'number'],
    ['Drop in %', ({ percent }) => (percent === null ? '-' : `${percent} %`), 'number'],
  ];
  return (
    <>
      <Table name="Deals" columns={columns} rows={page.rows} empty="No deals." />
      <Pager page={page} context={context} id="deals" />
    </>
  );
}

/** The data of the call for a seller with its storefront. */
interface SellerData {
  domainId: number;
  sellers: Record<
    string,
    {
      sellerId: string;
      sellerName?: string | null;
      hasFBA?: boolean | null;
      /** For 30, 90 and 365 days, and in total. */
      ratingCount?: number[] | null;
      positiveRating?: number[] | null;
      asinList?: string[] | null;
    }
  >;
}

function sellerAsins({ sellers }: SellerData): string[] {
  return Object.values(sellers)[0]?.asinList ?? [];
}

function SellerFacts({ data, context }: { data: SellerData; context: ShowContext }): VNode {
  const [seller] = Object.values(data.sellers);
  if (!seller) return <p class="empty">The provider does not know this seller.</p>;
  const { sellerId, sellerName, hasFBA, ratingCount, positiveRating } = seller;
  const [, , year, total] = ratingCount ?? [];
  const positive = positiveRating?.[2];
  return (
    <>
      <h3>{sellerName ?? sellerId}</h3>
      <Facts
        facts={[
          ['Seller', <code>{sellerId}</code>],
          total !== undefined && ['Ratings', count(total)],
          year !== undefined && ['Ratings in a year', count(year)],
          positive !== undefined && ['Positive in a year', `${positive} %`],
          hasFBA !== null && hasFBA !== undefined && ['Fulfilled by the site', hasFBA ? 'yes' : 'no'],
        ]}
      />
      <AsinList asins={sellerAsins(data)} domain={data.domainId} id="storefront" context={context} />
    </>
  );
}
