import { REPORT_SITES } from '../../../../operations/brand-analytics/keywords/sites.ts';
import { SITES } from '../../../../operations/params/domain.ts';
import { Field } from '../../../kit/form.tsx';
import { resultPath } from '../../answer-viewer.tsx';
import type { ExplorePage } from '../explore-page.tsx';
import { SiteChoice, siteOf } from '../site-choice.tsx';
import { type View, viewOf } from '../view.ts';
import { OffersTable, offerRows } from './offers.tsx';
import { historyRows, type ProductData, ProductFacts } from './product-facts.tsx';
import { type KeywordsData, KeywordsTable, keywordRows } from './product-keywords.tsx';
import { VARIATIONS_SHOWN, type VariationsData, VariationsGrid, variationRows } from './variations.tsx';

/** The page of a product. */
export const productPage: ExplorePage = {
  path: '/explore/product',
  title: 'Product',
  lead: 'Prices, ranks, offers, variations and search terms of a product. Each part shows its price before it is fetched.',
  fields: (
    <>
      <SiteChoice />
      <Field name="asin" label="ASIN" required placeholder="B0C3CDEF01" maxLength={20} />
    </>
  ),
  fieldNames: ['domain', 'asin'],
  fieldOf: { asins: 'asin' },
  button: 'Show the price',
  intro: 'Enter the ASIN of a product, such as B0C3CDEF01.',
  views: (values) => (values.asin === undefined ? null : viewsOf(siteOf(values), values.asin)),
};

function viewsOf(domain: number | string, asin: string): View[] {
  const site = { domain };
  const country = SITES[domain as keyof typeof SITES];
  return [
    viewOf<ProductData>({
      name: 'product',
      title: 'Prices and rank',
      button: 'Show the product',
      operation: 'market.product',
      parameters: {
        ...{ ...site, asins: [asin], detailLevel: 'full', stats: 90, rating: true, buybox: true },
        decode: true,
      },
      show: (data, context) => <ProductFacts data={data} context={context} />,
      rows: historyRows,
    }),
    viewOf<ProductData>({
      name: 'offers',
      title: 'Offers',
      button: 'Show the offers',
      operation: 'market.product',
      parameters: { ...site, asins: [asin], offers: 20, history: false, decode: true },
      show: (data) => <OffersTable data={data} />,
      rows: (data) => offerRows(data).map((row) => ({ ...row })),
    }),
    viewOf<VariationsData>({
      name: 'variations',
      title: 'Variations',
      button: 'Show the variations',
      operation: 'market.variations',
      parameters: { ...site, asin, detailLevel: 'summary', perPage: VARIATIONS_SHOWN },
      show: (data, context) => <VariationsGrid data={data} context={context} />,
      rows: variationRows,
    }),
    ...(country !== undefined && country in REPORT_SITES ? [keywordsView(asin, country)] : []),
    {
      name: 'chart',
      title: 'Chart as a picture',
      button: 'Show the picture',
      operation: 'market.graphimage',
      parameters: { ...site, asin, range: 365, width: 1000, height: 500, salesrank: true },
      show: (_data, { jobId }) => (
        <img
          class="picture"
          src={resultPath(jobId)}
          alt="Chart of the prices of the last year"
          width={1000}
          height={500}
        />
      ),
    },
  ];
}

function keywordsView(asin: string, country: string): View {
  return viewOf<KeywordsData>({
    name: 'terms',
    title: 'Search terms',
    button: 'Show the search terms',
    operation: 'aba.asinreverse',
    parameters: { asins: [asin], country, limit: 100 },
    show: (data) => <KeywordsTable data={data} />,
    rows: (data) => keywordRows(data).map((row) => ({ ...row })),
  });
}
