import type { VNode } from 'preact';
import { priceFormat } from '../../../operations/products/provider-fields.ts';
import type { ResearchProductData } from '../../../operations/research/product.ts';
import { saleOf } from '../../../operations/research/sale.js';
import { unitOf } from '../../../operations/research/series.ts';
import { Facts, SmallLink } from '../../kit/elements.tsx';
import { Fields, FilterForm, HiddenFields } from '../../kit/form.tsx';
import { addressOf } from '../../kit/list-page.tsx';
import { type Column, Table } from '../../kit/table.tsx';
import { type ChartSeries, MONTHS, valueText } from '../../kit/time-chart.tsx';
import { count, Time } from '../../kit/words.tsx';
import { againAddress, keywordAddress, Picture, ProductLink, type ShowContext } from './explore-view.tsx';
import { percent } from './product-parts.tsx';
import { dayOf, MissingParts, type Snapshot, SnapshotFigures, Sources, type Tile } from './snapshot.tsx';

/** The series of research answers by name, with what a chart calls them. */
export const DAILY = [
  ['price', 'Price', 'price'],
  ['rank', 'Sales rank', 'rank'],
  ['offers', 'New offers', 'count'],
  ['rating', 'Rating', 'stars'],
] as const;

/** How the values of a daily series are written. */
export function dailyFormat(scale: (typeof DAILY)[number][2], domain: number): Intl.NumberFormatOptions {
  if (scale === 'price') return priceFormat(domain);
  return scale === 'stars' ? { minimumFractionDigits: 1 } : {};
}

/** The series of a product whose rows are days. A chart shows its price and rank first. */
function dailySeries({ series, domainId }: ResearchProductData): ChartSeries[] {
  return DAILY.map(([key, name, scale]) => ({
    name,
    scale,
    format: dailyFormat(scale, domainId),
    points: (series ?? []).map((row) => [Date.parse(row.day), row[key]] as const),
    shown: scale === 'price' || scale === 'rank',
  }));
}

type HistoryValues = ResearchProductData['price'];

const AVERAGES = [
  ['average30', '30 days'],
  ['average90', '90 days'],
  ['average365', '365 days'],
] as const;

function historyTiles(
  data: ResearchProductData,
  name: 'price' | 'rank',
  [title, of, better, worse]: readonly [title: string, of: string, better: string, worse: string],
): Tile[] {
  const values: HistoryValues = data[name];
  const format = name === 'price' ? priceFormat(data.domainId) : { maximumFractionDigits: 0 };
  const text = (key: keyof HistoryValues) => valueText(values[key], format);
  const { drop } = values;
  return [
    {
      name: title,
      value: text('current'),
      tag: drop !== null && drop > 0 ? ['good', `${drop} % ${better} 90-day average`] : null,
      note: drop !== null && drop < 0 ? `${-drop} % ${worse} 90-day average` : null,
    },
    ...AVERAGES.map(([key, days]) => ({ name: `Average ${of}, ${days}`, value: text(key) })),
    { name: `Lowest ${of}`, value: text('lowest'), note: dayOf(data.figures, `${name}.lowest`) },
    { name: `Highest ${of}`, value: text('highest'), note: dayOf(data.figures, `${name}.highest`) },
  ];
}

export function productSnapshot(data: ResearchProductData): Snapshot {
  const { product, asin, country, monthlySold, offers, series, figures } = data;
  const title = product?.title ?? asin;
  return {
    title,
    about: `${country}, ${asin}`,
    tiles: [
      historyTiles(data, 'price', ['Price now', 'price', 'below', 'above']),
      historyTiles(data, 'rank', ['Sales rank now', 'rank', 'better than', 'worse than']),
      [
        {
          name: 'Sold in a month',
          value: monthlySold === null ? '-' : `${count(monthlySold)}+`,
          note: 'at least, as the site states',
        },
        { name: 'New offers', value: valueText(offers) },
        { name: 'Rating', value: valueText(series?.at(-1)?.rating ?? null, { minimumFractionDigits: 1 }) },
      ],
    ],
    chart: { name: title, series: dailySeries(data), isStepped: true, ...MONTHS, rows: 'months' },
    figures,
  };
}

/** A product with its figures, chart, profit and keywords. */
export function ProductView({ data, context }: { data: ResearchProductData; context: ShowContext }): VNode {
  const { product, asin, figures, price, domainId } = data;
  if (!product) return <MissingParts errors={data.errors} again={againAddress(context, 'product')} />;
  const { title, brand, category, parentAsin, image, updatedAt } = product;
  return (
    <>
      <div class="product-head">
        <Picture host={context.imageCdnUrl} name={image} size={160} />
        <div>
          <h3>{title ?? asin}</h3>
          <Facts
            facts={[
              ['ASIN', <code>{asin}</code>],
              brand && ['Brand', brand],
              category && ['Category', category],
              parentAsin && ['Parent', <ProductLink domain={domainId} asin={parentAsin} />],
              ['Updated', <Time at={updatedAt} />],
            ]}
          />
          <p class="row">
            <SmallLink to={trackAddress(data)}>Track this price</SmallLink>
            <SmallLink to={addressOf('/explore/compare', { domain: String(domainId), asins: asin })}>
              Compare with others
            </SmallLink>
          </p>
        </div>
      </div>
      <SnapshotFigures snapshot={productSnapshot(data)} />
      {price.current !== null && <Calculator data={data} context={context} />}
      <Keywords data={data} />
      <Sources figures={figures} />
    </>
  );
}

/** The form of a new tracker of the price, with a bound of a tenth below it. */
function trackAddress({ asin, domainId, product, price }: ResearchProductData): string {
  const unit = unitOf('price', domainId);
  const bound = price.current === null ? '' : String(Math.round(price.current * 0.9 * unit) / unit);
  return addressOf('/account/trackers/new', {
    name: `Price of ${product?.title ?? asin}`.slice(0, 200),
    subject: 'products',
    domain: String(domainId),
    items: asin,
    type1: 'price_below',
    price1: 'new',
    value1: bound,
  });
}

const RESULTS = [
  ['profit', 'Profit'],
  ['margin', 'Margin'],
  ['roi', 'Return on cost'],
] as const;

/** The fees of a sale, and what it leaves for typed costs: without a call, in the browser or by sending the form. */
function Calculator({ data, context }: { data: ResearchProductData; context: ShowContext }): VNode {
  const { domainId, price, fees } = data;
  const { referral, closing, fba } = fees;
  const format = priceFormat(domainId);
  const unit = unitOf('price', domainId);
  const inUnits = (amount: number | null) => (amount === null ? null : Math.round(amount * unit));
  const { cost, otherCosts, ...query } = context.query;
  const known = {
    price: inUnits(price.current),
    referral: inUnits(referral),
    closing: inUnits(closing),
    fba: inUnits(fba),
  };
  const sale = saleOf({
    ...known,
    cost: inUnits(amountIn(cost)),
    otherCosts: inUnits(amountIn(otherCosts)) ?? 0,
  });
  const texts = {
    profit: valueText(sale.profit === null ? null : sale.profit / unit, format),
    margin: percent(sale.margin),
    roi: percent(sale.roi),
  };
  const step = { type: 'number', min: 0, step: 1 / unit } as const;
  return (
    <section aria-labelledby="profit" data-sale={JSON.stringify({ ...known, unit, format })}>
      <h3 id="profit">Profit of a sale</h3>
      <Facts
        facts={[
          ['Price', valueText(price.current, format)],
          ['Referral fee', valueText(referral, format)],
          closing !== null && ['Closing fee', valueText(closing, format)],
          ['Fulfilment fee (FBA)', valueText(fba, format)],
        ]}
      />
      {referral === null || fba === null ? (
        <p class="hint">
          The provider does not return both fees of this product, so the profit cannot be calculated.
        </p>
      ) : (
        <>
          <FilterForm path={`${context.path}#profit`} values={context.query} button="Calculate">
            <HiddenFields fields={query} />
            <Fields
              rows={[
                ['cost', 'Your cost of the product', step],
                ['otherCosts', 'Other costs of a sale', step],
              ]}
            />
          </FilterForm>
          <dl class="totals" aria-live="polite">
            {RESULTS.map(([key, name]) => (
              <div class="card" key={key}>
                <dt>{name}</dt>
                <dd class="price" data-result={key}>
                  {texts[key]}
                </dd>
              </div>
            ))}
          </dl>
        </>
      )}
    </section>
  );
}

const MOST_COST = 10_000_000;

/** An amount of the form; null if there is none. */
function amountIn(text = ''): number | null {
  const amount = Number(text);
  return text !== '' && amount >= 0 && amount <= MOST_COST ? amount : null;
}

type Keyword = NonNullable<ResearchProductData['keywords']>[number];

/** The keywords for which the product is among the three clicked most. */
function Keywords({ data }: { data: ResearchProductData }): VNode {
  const { keywords, country, hasMoreKeywords } = data;
  if (keywords === null)
    return (
      <p class="hint">No brand analytics reports of this site are loaded, so its keywords are unknown.</p>
    );
  const columns: Column<Keyword>[] = [
    ['Search term', ({ keyword }) => <a href={keywordAddress(country, keyword)}>{keyword}</a>, 'row'],
    ['Week', ({ week }) => week, 'number'],
    ['Rank', ({ rank }) => count(rank), 'number'],
    ['Position', ({ position }) => position, 'number'],
    ['Clicks', ({ clickShare }) => percent(clickShare), 'number'],
  ];
  return (
    <>
      <h3>Search terms</h3>
      <Table
        name="Search terms"
        columns={columns}
        rows={keywords}
        empty="In the last 12 weeks, the product was not among the three most clicked of any search term."
      />
      {hasMoreKeywords && <p class="hint">The first {keywords.length} are shown.</p>}
    </>
  );
}
