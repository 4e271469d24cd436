import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { ComponentChildren } from 'preact';
import { isTestAccount } from '../../../accounts/test-accounts.ts';
import type { JobView } from '../../../api/job-view.ts';
import { SITES } from '../../../operations/params/domain.ts';
import { FilterForm } from '../../kit/form.tsx';
import { type FormFaults, type FormValues, readValues } from '../../kit/form-request.ts';
import { Page } from '../../kit/layout.tsx';
import { addressOf } from '../../kit/paging.tsx';
import { sendPage } from '../../kit/render.tsx';
import { CHART_FILES } from '../../kit/time-chart.tsx';
import { baseUrlOf, type Pages } from '../../pages.ts';
import { customerOf } from '../../session.ts';
import { refusedForm } from '../customer-api.ts';
import { findView, type ShownView, statesOf } from './page-states.ts';
import { rowsCsv } from './rows-csv.ts';
import type { View } from './view.ts';
import { type CardPlace, ViewCard } from './view-card.tsx';
import { makeCall, stateOf, type ViewState } from './view-state.ts';

/** A page for looking at data: a form, and the views of what it asks for. */
export interface ExplorePage {
  path: string;
  title: string;
  lead: string;
  /** Fields of the form. */
  fields: ComponentChildren;
  /** Names of the fields. */
  fieldNames: readonly string[];
  /** Fields that hold parameters of another name. */
  fieldOf: Readonly<Record<string, string>>;
  button: string;
  /** Shown while the form is empty. */
  intro: ComponentChildren;
  /** The views for the values of the form, or null while the form is empty. The first one is what the form asks for. */
  views(values: FormValues): readonly View[] | null;
}

/** The pages, in the order of their navigation. */
const PAGES = [
  ['/explore/product', 'Product'],
  ['/explore/search', 'Search'],
  ['/explore/finder', 'Finder'],
  ['/explore/categories', 'Best sellers'],
  ['/explore/deals', 'Deals'],
  ['/explore/seller', 'Seller'],
  ['/explore/keyword', 'Keyword'],
  ['/explore/ranks', 'Weekly ranks'],
  ['/explore/trends', 'Trends'],
  ['/explore/today', 'Trending today'],
] as const;

/** Registers a page. Its address has the values of the form, and the job of each view whose call was made. */
export function registerExplorePage(scope: FastifyInstance, pages: Pages, page: ExplorePage): void {
  scope.get(page.path, async (request, reply) => {
    const query = presentOf(readValues(request.query));
    const views = page.views(query);
    if (views === null) return sendExplore(reply, page, { query, cards: null, faults: {} });
    const csv = await findView(request, views, query, query.csv);
    if (csv?.rows) return sendCsv(request, reply, csv, page.path, query);
    return showViews(reply, query, await statesOf(request, views, query));
  });

  scope.post(page.path, async (request, reply) => {
    const { view: name, _csrf, ...query } = presentOf(readValues(request.body));
    const views = page.views(query) ?? [];
    const view = await findView(request, views, query, name);
    if (!view) return reply.redirect(addressOf(page.path, query), 303);
    const made = await makeCall(request, view);
    if ('jobId' in made) {
      const address = addressOf(page.path, { ...query, [view.name]: made.jobId });
      return reply.redirect(`${address}#${view.name}`, 303);
    }
    const state = { kind: 'refused', answer: made.answer } as const;
    return showViews(reply, query, await statesOf(request, views, query, { view, state }));
  });

  /** Whether this installation serves the pictures of the products that a page shows. */
  function hasOwnPictures(request: FastifyRequest): boolean {
    return pages.hasDemoPictures || isTestAccount(customerOf(request).accountId);
  }

  function showViews(reply: FastifyReply, query: FormValues, shown: readonly ShownView[]): FastifyReply {
    const main = shown[0]?.state;
    const faults = main?.kind === 'refused' ? faultsOf(page, main) : {};
    const place: CardPlace = {
      ...{ path: page.path, query },
      imageCdnUrl: hasOwnPictures(reply.request) ? '' : pages.imageCdnUrl,
      baseUrl: baseUrlOf(pages, reply.request),
    };
    const isFormRefused = Object.keys(faults).some((field) => field !== '');
    // The parts that follow from the data of a running call appear with it.
    const isPending = shown.some(
      ({ view, state }, i) => state.kind === 'running' && (i === 0 || view.next !== undefined),
    );
    const cards = isFormRefused ? null : (
      <div id="views" data-refresh={isPending ? '1' : undefined}>
        {shown.map(({ view, state }) => (
          <ViewCard key={view.name} view={view} state={state} place={place} isRefreshed={!isPending} />
        ))}
      </div>
    );
    const status = main?.kind === 'refused' ? main.answer.status : 200;
    return sendExplore(reply, page, { query, cards, faults }, status);
  }
}

/** The errors of a refused call, by the fields of the form. */
function faultsOf(
  { fieldNames, fieldOf }: ExplorePage,
  { answer }: ViewState & { kind: 'refused' },
): FormFaults {
  return refusedForm(answer, (parameter) => {
    const field = fieldOf[parameter] ?? parameter;
    return fieldNames.includes(field) ? field : undefined;
  }).faults;
}

function presentOf(values: FormValues): FormValues {
  return Object.fromEntries(
    Object.entries(values).flatMap(([name, value]) => {
      const text = value?.trim();
      return text ? [[name, text]] : [];
    }),
  );
}

async function sendCsv(
  request: FastifyRequest,
  reply: FastifyReply,
  view: View,
  path: string,
  { csv: _, ...query }: FormValues,
): Promise<FastifyReply> {
  const state = await stateOf(request, view, query[view.name]);
  // The page says why it has no data.
  if (state.kind !== 'done') return reply.redirect(`${addressOf(path, query)}#${view.name}`, 303);
  const { data, job } = state;
  const rows = view.rows?.(data) ?? [];
  return reply
    .type('text/csv; charset=utf-8')
    .header('cache-control', 'no-store')
    .header('content-disposition', `attachment; filename="${fileNameOf(view, job)}"`)
    .send(rowsCsv(rows));
}

/** What most parameters are about, in the order of a file name. */
const SUBJECTS = [
  ...['domain', 'domainId', 'country', 'geo'],
  ...['asin', 'asins', 'seller', 'category', 'wordId', 'keyword', 'term', 'reportDate'],
];

/** Returns a name with what the view shows, its site, and the day of the data: souk-offers-us-B0C3CDEF01-2026-03-04.csv. */
function fileNameOf({ name, parameters }: View, { createdAt }: JobView): string {
  const subjects = SUBJECTS.flatMap((subject): string[] => {
    const value = parameters[subject];
    if (typeof value === 'number')
      return [
        (subject.startsWith('domain') ? SITES[value as keyof typeof SITES] : undefined) ?? String(value),
      ];
    return typeof value === 'string' ? [value] : Array.isArray(value) ? value.map(String) : [];
  });
  const text = subjects
    .slice(0, MOST_SUBJECTS)
    .join('-')
    .replace(/[^\w.-]+/g, '-')
    .slice(0, MOST_CHARACTERS);
  return `${['souk', name, text, createdAt.slice(0, 10)].filter(Boolean).join('-')}.csv`;
}

const MOST_SUBJECTS = 4;
const MOST_CHARACTERS = 80;

function sendExplore(
  reply: FastifyReply,
  page: ExplorePage,
  shown: { query: FormValues; cards: ComponentChildren; faults: FormFaults },
  status?: number,
): FastifyReply {
  const { path, title, lead, fields, button, intro } = page;
  const { query, cards, faults } = shown;
  return sendPage(
    reply,
    <Page
      title={title}
      styles={['account.css', ...CHART_FILES.styles, 'explore.css']}
      libraries={CHART_FILES.libraries}
      scripts={CHART_FILES.scripts}
      wide
    >
      <nav class="segments views" aria-label="Explore">
        {PAGES.map(([href, name]) => (
          <a key={href} href={href} aria-current={href === path ? 'page' : undefined}>
            {name}
          </a>
        ))}
      </nav>
      <h1>{title}</h1>
      <p class="lead">{lead}</p>
      <FilterForm path={path} values={query} faults={faults} button={button}>
        {fields}
      </FilterForm>
      {cards ?? <div class="empty card">{intro}</div>}
    </Page>,
    status,
  );
}
