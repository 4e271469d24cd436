import type { FastifyRequest } from 'fastify';
import type { VNode } from 'preact';
import type { TrackerView } from '../../../batches/trackers/tracker.ts';
import { REPORT_SITES } from '../../../operations/brand-analytics/keywords.ts';
import { unitsOfRows } from '../../../operations/research/screen.ts';
import { Field, HiddenFields, PostForm, Submit } from '../../kit/form.tsx';
import type { FormValues } from '../../kit/form-request.ts';
import { addressOf } from '../../kit/list-page.tsx';
import { type Column, Table } from '../../kit/table.tsx';
import { count, counted, Dash } from '../../kit/words.tsx';
import { apiData } from '../customer-api.ts';
import { screenText } from '../screen-text.ts';
import { DeliveryFields } from '../tracker-form.tsx';
import { type ExplorePage, keywordAddress, ProductLink, type ShowContext, viewOf } from './explore-view.tsx';
import { Pager, pageIn } from './product-lists.tsx';
import { percent } from './product-parts.tsx';
import { RANGE_FIELDS, SCREEN_FIELDS, ScreenFields, screenQuery, screenValues } from './screen-fields.tsx';

/** The data of a screen. */
interface ScreenData {
  country: keyof typeof REPORT_SITES;
  week: string;
  rows: ScreenRow[];
  total: number;
  nextCursor: string | null;
}

interface ScreenRow {
  wordId: number;
  keyword: string;
  rank: number;
  change4: number | null;
  change12: number | null;
  clickShare: number | null;
  conversionShare: number | null;
  top: { asin: string; brand: string | null; title: string | null }[];
  firstSeen: string;
}

/** The page that finds search terms of a week, and saves the screen as a tracker. */
export const screenerPage: ExplorePage = {
  path: '/explore/screener',
  title: 'Screener',
  lead: 'The search terms of a week that match all filters. A screen costs 1 unit for each 100 rows, at least 1 unit.',
  fields: SCREEN_FIELDS,
  form: () => <ScreenFields hasWeek />,
  fieldOf: { ...RANGE_FIELDS, cursor: 'week' },
  scripts: ['screener.js'],
  intro: 'Choose a site and, if you like, filters. You see the cost before anything runs.',
  views(values) {
    if (values.country === undefined) return null;
    return [
      viewOf<ScreenData>({
        name: 'terms',
        title: 'Terms',
        button: 'Show the terms',
        operation: 'research.screen',
        parameters: screenQuery(values),
        show: (data, context) => <Terms data={data} context={context} />,
      }),
    ];
  },
  aside: savedScreens,
};

function Terms({ data, context }: { data: ScreenData; context: ShowContext }): VNode {
  const { country, week, rows, total, nextCursor } = data;
  const { path, query } = context;
  const page = pageIn(rows, query);
  const { domain } = REPORT_SITES[country];
  const columns: Column<ScreenRow>[] = [
    ['Rank', ({ rank }) => count(rank), 'number'],
    ['Search term', (row) => <a href={keywordAddress(country, row.keyword)}>{row.keyword}</a>, 'row'],
    ['4 weeks', ({ change4 }) => changeText(change4), 'number'],
    ['12 weeks', ({ change12 }) => changeText(change12), 'number'],
    ['Clicks', ({ clickShare }) => percentText(clickShare), 'number'],
    ['Purchases', ({ conversionShare }) => percentText(conversionShare), 'number'],
    ['Most clicked', ({ top }) => <Products top={top} domain={domain} />, 'long'],
    ['First seen', ({ firstSeen }) => firstSeen, 'number'],
  ];
  return (
    <>
      <p>
        {counted(total, 'term')} of the week that ended on {week}
        {(nextCursor !== null || query.cursor) && `, ${count(rows.length)} on this page`}.
      </p>
      <Table name="Terms" columns={columns} rows={page.rows} empty="No term passes all filters." />
      <Pager page={page} context={context} id="terms" />
      <div class="buttons">
        {query.cursor && (
          <a
            class="button"
            href={addressOf(path, { ...query, cursor: undefined, terms: undefined, page: undefined })}
          >
            First page
          </a>
        )}
        {nextCursor && (
          <PostForm action={path} class="inline">
            <HiddenFields
              fields={{ ...query, terms: undefined, page: undefined, cursor: nextCursor, view: 'terms' }}
            />
            <button type="submit">
              Next {counted(rowsAsked(query), 'row')} (at most{' '}
              {counted(unitsOfRows(rowsAsked(query)), 'unit')})
            </button>
          </PostForm>
        )}
      </div>
      <SaveScreen query={query} />
    </>
  );
}

const rowsAsked = ({ limit = '100' }: FormValues) => Number(limit) || 100;

/** The form that saves the screen as a tracker. */
function SaveScreen({ query }: { query: FormValues }): VNode {
  const { week: _week, cursor: _cursor, ...filters } = screenQuery(query);
  const units = unitsOfRows(rowsAsked(query));
  return (
    <details>
      <summary>Save this screen</summary>
      <p>
        A saved screen runs now and with each imported week. It reports which terms entered and left, and why.
        Each run costs at most {counted(units, 'unit')}.
      </p>
      <PostForm action="/account/trackers/new">
        <HiddenFields fields={{ subject: 'screen', ...filters }} />
        <div class="fields">
          <Field name="name" label="Name" maxLength={200} required preset={nameOf(query)} />
          <DeliveryFields />
        </div>
        <div class="buttons">
          <HiddenFields fields={{ intent: 'save' }} />
          <Submit>Save this screen</Submit>
        </div>
      </PostForm>
    </details>
  );
}

function nameOf({ words, brand, country = 'us' }: FormValues): string {
  return [words ?? brand ?? 'Terms', country.toUpperCase()].join(', ').slice(0, 200);
}

function Products({ top, domain }: { top: ScreenRow['top']; domain: number }): VNode {
  if (top.length === 0) return <Dash />;
  return (
    <ul class="plain tight">
      {top.map(({ asin, title }) => (
        <li key={asin}>
          <ProductLink domain={domain} asin={asin} title={title} />
        </li>
      ))}
    </ul>
  );
}

function changeText(change: number | null): VNode | string {
  if (change === null) return <Dash />;
  return change > 0 ? `+${count(change)}` : count(change);
}

function percentText(share: number | null): VNode | string {
  return share === null ? <Dash /> : percent(share);
}

const MOST_SAVED = 100;

/** The saved screens of the account, with what entered and left at the last run. */
async function savedScreens(request: FastifyRequest): Promise<VNode | null> {
  const { trackers } = await apiData<{ trackers: TrackerView[] }>(
    request,
    'GET',
    `/api/trackers?limit=${MOST_SAVED}`,
  );
  const screens = trackers.filter(({ subject }) => subject === 'screen');
  if (screens.length === 0) return null;
  return (
    <section class="card" aria-labelledby="saved">
      <h2 id="saved">Saved screens</h2>
      <Table name="Saved screens" columns={SAVED} rows={screens} empty="" />
    </section>
  );
}

const SAVED: Column<TrackerView>[] = [
  ['Screen', ({ trackerId, name }) => <a href={`/account/trackers/${trackerId}`}>{name}</a>, 'row'],
  ['Filters', ({ screen: saved }) => screenText(saved), 'long'],
  ['Week', ({ lastScreen }) => lastScreen?.week ?? <Dash />, 'number'],
  ['Terms', ({ lastScreen }) => (lastScreen ? count(lastScreen.total) : <Dash />), 'number'],
  [
    'Entered',
    ({ lastScreen }) => (lastScreen?.comparedWith ? count(lastScreen.entered) : <Dash />),
    'number',
  ],
  ['Left', ({ lastScreen }) => (lastScreen?.comparedWith ? count(lastScreen.left) : <Dash />), 'number'],
  [
    'Open',
    ({ trackerId, domain, screen: saved }) => (
      <>
        <a href={addressOf(screenerPage.path, screenValues(domain, saved))}>Show</a>{' '}
        <a href={`/account/trackers/${trackerId}/edit`}>Edit</a>
      </>
    ),
  ],
];
