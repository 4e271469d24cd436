import type { VNode } from 'preact';
import type { ResearchCompareData } from '../../../operations/research/compare.ts';
import { SmallLink } from '../../kit/elements.tsx';
import type { FormValues } from '../../kit/form-request.ts';
import { addressOf } from '../../kit/list-page.tsx';
import { type Column, Table } from '../../kit/table.tsx';
import { MONTHS, valueText } from '../../kit/time-chart.tsx';
import { count } from '../../kit/words.tsx';
import {
  againAddress,
  type ExplorePage,
  ProductLink,
  type ShowContext,
  SITE_FIELD,
  siteOf,
  viewOf,
} from './explore-view.tsx';
import { asinsIn, withAsins } from './product-address.ts';
import { DAILY, dailyFormat } from './product-view.tsx';
import { changeText, MissingParts, type Snapshot, SnapshotFigures, Sources } from './snapshot.tsx';

const PATH = '/explore/compare';

const PERIODS = [
  ['90', '3 months'],
  ['180', '6 months'],
  ['365', 'Year'],
] as const;

/** The page that compares products. */
export const comparePage: ExplorePage = {
  path: PATH,
  title: 'Compare',
  lead: 'Price, sales rank, offers and rating of two to ten products in one chart.',
  fields: [
    SITE_FIELD,
    [
      'asins',
      'ASINs or addresses, two to ten',
      { required: true, placeholder: 'B0C3CDEF01 B0C3CDEF02', maxLength: 10_000 },
    ],
    ['days', 'Period', { options: PERIODS, preset: '365' }],
  ],
  intro: 'Enter two to ten ASINs, or paste the addresses of their pages.',
  read: (values) => withAsins(values, 'asins'),
  views: (values) =>
    values.asins === undefined
      ? null
      : [
          viewOf<ResearchCompareData>({
            name: 'compare',
            title: 'Comparison',
            button: 'Compare',
            operation: 'research.compare',
            parameters: {
              domain: siteOf(values),
              asins: asinsIn(values.asins),
              days: Number(values.days ?? 365),
            },
            show: (data, context) => <Comparison data={data} context={context} />,
            isEmpty: ({ errors, summary }) => errors.length === summary.length,
            snapshot: comparisonSnapshot,
          }),
        ],
};

/** The value that the chart shows. */
function shownIn({ value }: FormValues): (typeof DAILY)[number] {
  return DAILY.find(([key]) => key === value) ?? DAILY[0];
}

export function comparisonSnapshot(data: ResearchCompareData, query: FormValues): Snapshot {
  const { country, domainId, series, summary, figures } = data;
  const [key, name, scale] = shownIn(query);
  const format = dailyFormat(scale, domainId);
  const nameOf = ({ asin, title }: (typeof summary)[number]) =>
    title === null ? asin : `${asin} ${shortTitle(title)}`;
  return {
    title: `${name} of ${count(summary.length)} products`,
    about: country,
    tiles: [
      summary.map((one) => ({
        name: nameOf(one),
        value: valueText(one[key].last, format),
        note: `${changeText(one[key].change, format)} in the period`,
      })),
    ],
    chart: {
      name: `${name} of ${count(summary.length)} products (${country})`,
      series: summary.map((one) => ({
        name: nameOf(one),
        scale,
        format,
        points: series
          .filter(({ asin }) => asin === one.asin)
          .map((row) => [Date.parse(row.day), row[key]] as const),
        shown: true,
      })),
      isStepped: true,
      ...MONTHS,
      rows: 'months',
    },
    figures,
  };
}

const MOST_CHARACTERS = 40;

/** Longer titles are cut at a word. */
function shortTitle(title: string): string {
  if (title.length <= MOST_CHARACTERS) return title;
  return `${title.slice(0, MOST_CHARACTERS + 1).replace(/\s+\S*$/, '')}…`;
}

function Comparison({ data, context }: { data: ResearchCompareData; context: ShowContext }): VNode {
  const { query } = context;
  const [shown, name] = shownIn(query);
  const missing = <MissingParts errors={data.errors} again={againAddress(context, 'compare')} />;
  if (data.errors.length === data.summary.length) return missing;
  return (
    <>
      {missing}
      <nav class="segments" aria-label="Value">
        {DAILY.map(([key, text]) => (
          <a
            key={key}
            href={`${addressOf(PATH, { ...query, value: key })}#compare`}
            aria-current={key === shown ? 'true' : undefined}
          >
            {text}
          </a>
        ))}
      </nav>
      <SnapshotFigures snapshot={comparisonSnapshot(data, query)} />
      <p class="row">
        <SmallLink to={trackAddress(data)}>Track these prices</SmallLink>
      </p>
      <h3>{name} in the period</h3>
      <Summary data={data} value={shown} />
      <Sources figures={data.figures} />
    </>
  );
}

/** The form of a new tracker of the prices, with a bound that fits each product. */
function trackAddress({ summary, domainId, country }: ResearchCompareData): string {
  return addressOf('/account/trackers/new', {
    name: `Prices of ${summary.length} products, ${country}`,
    subject: 'products',
    domain: String(domainId),
    items: summary.map(({ asin }) => asin).join('\n'),
    type1: 'price_drop',
    price1: 'new',
    value1: '10',
  });
}

function Summary({ data, value }: { data: ResearchCompareData; value: (typeof DAILY)[number][0] }): VNode {
  type Row = (typeof data.summary)[number];
  const { domainId, summary } = data;
  const [, , scale] = shownIn({ value });
  const format = dailyFormat(scale, domainId);
  const cell =
    (key: 'first' | 'last' | 'average' | 'lowest' | 'highest') =>
    ({ [value]: movement }: Row) =>
      valueText(movement[key], format);
  const columns: Column<Row>[] = [
    ['Product', ({ asin, title }) => <ProductLink domain={domainId} asin={asin} title={title} />, 'row'],
    ['Brand', ({ brand }) => brand ?? '-'],
    ['First', cell('first'), 'number'],
    ['Last', cell('last'), 'number'],
    ['Change', ({ [value]: movement }) => changeText(movement.change, format), 'number'],
    ['Average', cell('average'), 'number'],
    ['Lowest', cell('lowest'), 'number'],
    ['Highest', cell('highest'), 'number'],
    [
      'Sold in a month',
      ({ monthlySold }) => (monthlySold === null ? '-' : `${count(monthlySold)}+`),
      'number',
    ],
  ];
  return <Table name="Summaries" columns={columns} rows={summary} />;
}
