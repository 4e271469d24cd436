import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { ComponentChildren, VNode } from 'preact';
import { isAble } from '../../../accounts/members.ts';
import { TABLE_FORMAT_NAMES } from '../../../operations/tables/formats.ts';
import { fileNameOf } from '../../../results/tables/file-name.ts';
import { writeTable } from '../../../results/tables/write-table.ts';
import { Fields, FilterForm, HiddenFields, PostForm, Submit } from '../../kit/form.tsx';
import { type FormFaults, type FormValues, readValues } from '../../kit/form-request.ts';
import { Page } from '../../kit/layout.tsx';
import { addressOf } from '../../kit/list-page.tsx';
import { sendFile, sendPage } from '../../kit/render.tsx';
import { CHART_FILES } from '../../kit/time-chart.tsx';
import { counted } from '../../kit/words.tsx';
import { baseUrlOf, type Pages } from '../../pages.ts';
import { customerOf, personOf } from '../../session.ts';
import { refusedForm } from '../customer-api.ts';
import { categoriesPage } from './categories-page.tsx';
import { shareChart } from './chart-links.tsx';
import { comparePage } from './compare-page.tsx';
import { allowProductPictures, type ExplorePage, imageHostOf, tablesOf, type View } from './explore-view.tsx';
import { keywordPage } from './keyword-page.tsx';
import { productPage } from './product-page.tsx';
import { ranksPage } from './ranks-page.tsx';
import { screenerPage } from './screener-page.tsx';
import { dealsPage, finderPage, searchPage, sellerPage } from './search-pages.tsx';
import { todayPage, trendsPage } from './trends-page.tsx';
import { type CardPlace, ViewCard } from './view-card.tsx';
import { createViewBytes, makeCall, stateOf, type ViewState } from './view-state.ts';

/** Registers a page. Its address has the values of the form, and the job of each view whose call was made. */
function registerExplorePage(scope: FastifyInstance, pages: Pages, page: ExplorePage): void {
  scope.get(page.path, async (request, reply) => {
    const { download, table, format, ...query } = valuesOf(page, request.query);
    const views = page.views(query);
    if (views === null) return sendExplore(reply, page, { query, cards: null, faults: {} });
    const view = await findView(request, views, query, download);
    if (view) return sendTable(request, reply, view, { path: page.path, query, table, format });
    return showViews(reply, query, await statesOf(request, views, query));
  });

  scope.post(page.path, async (request, reply) => {
    const { view: name, _csrf, intent, more, linkDays, ...query } = valuesOf(page, request.body);
    const views = page.views(query) ?? [];
    const isDirect = intent === 'direct';
    const view = isDirect ? views[0] : await findView(request, views, query, name);
    const address = addressOf(page.path, query);
    if (!view) return reply.redirect(address, 303);
    if (intent === 'share') return share(reply, view, { query, linkDays });
    const { directUnits } = personOf(request);
    const made = await makeCall(request, view, {
      ...(isDirect ? { maxUnits: directUnits } : {}),
      ...(more ? { waitSeconds: MORE_WAIT_SECONDS } : {}),
    });
    if ('jobId' in made) {
      const first = { [view.name]: made.jobId };
      const jobs = more ? { ...first, ...(await jobOfNext(request, view, made.jobId, query)) } : first;
      return reply.redirect(`${addressOf(page.path, { ...query, ...jobs })}#${view.name}`, 303);
    }
    // The page shows what the call costs, or why it is refused.
    if (isDirect) return reply.redirect(address, 303);
    const state = { kind: 'refused', answer: made.answer } as const;
    return showViews(reply, query, await statesOf(request, views, query, { view, state }));
  });

  async function share(
    reply: FastifyReply,
    view: View,
    { query, linkDays }: { query: FormValues; linkDays: string | undefined },
  ): Promise<FastifyReply> {
    const back = `${addressOf(page.path, query)}#${view.name}`;
    const state = await stateOf(reply.request, view, query[view.name]);
    if (state.kind !== 'done' || !view.snapshot) return reply.redirect(back, 303);
    const snapshot = { ...view.snapshot(state.data, query), asOf: state.job.createdAt };
    return shareChart(pages, reply, { snapshot, days: linkDays, back });
  }

  function showViews(
    reply: FastifyReply,
    query: FormValues,
    shown: readonly ShownView[],
  ): Promise<FastifyReply> {
    const main = shown[0]?.state;
    const faults = main?.kind === 'refused' ? faultsOf(page, main) : {};
    const place: CardPlace = {
      path: page.path,
      query,
      others: customerOf(reply.request).others,
      imageCdnUrl: imageHostOf(pages, reply.request),
      baseUrl: baseUrlOf(pages, reply.request),
    };
    const isFormRefused = Object.keys(faults).some((field) => field !== '');
    // The parts that follow from the data of a running call appear with it.
    const isPending = shown.some(
      ({ view, state }, i) =>
        state.kind === 'unread' || (state.kind === 'running' && (i === 0 || view.next !== undefined)),
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

/** How long a page waits for a call whose data the next call needs. */
const MORE_WAIT_SECONDS = 20;

/** Makes the first call that follows from the data of another one. @returns its job by the name of its view; empty if there is none. */
async function jobOfNext(
  request: FastifyRequest,
  view: View,
  jobId: string,
  query: FormValues,
): Promise<FormValues> {
  const state = await stateOf(request, view, jobId);
  const [next] = state.kind === 'done' ? (view.next?.(state.data, query) ?? []) : [];
  const made = next && (await makeCall(request, next));
  return made && 'jobId' in made ? { [next.name]: made.jobId } : {};
}

/** The errors of a refused call, by the fields of the form. */
function faultsOf(
  { fields, fieldOf = {} }: ExplorePage,
  { answer }: ViewState & { kind: 'refused' },
): FormFaults {
  return refusedForm(answer, (parameter) => {
    const field = fieldOf[parameter] ?? parameter;
    return fields.some(([name]) => name === field) ? field : undefined;
  }).faults;
}

/** The values of a form that are not empty, as its page reads them. */
function valuesOf({ read = (values) => values }: ExplorePage, sent: unknown): FormValues {
  const present = Object.fromEntries(
    Object.entries(readValues(sent)).flatMap(([name, value]) => {
      const text = value?.trim();
      return text ? [[name, text]] : [];
    }),
  );
  return read(present);
}

/** Sends a table of the data of a view. */
async function sendTable(
  request: FastifyRequest,
  reply: FastifyReply,
  view: View,
  asked: { path: string; query: FormValues; table: string | undefined; format: string | undefined },
): Promise<FastifyReply> {
  const { path, query } = asked;
  const state = await stateOf(request, view, query[view.name]);
  const format = TABLE_FORMAT_NAMES.find((name) => name === (asked.format ?? 'csv'));
  const table = tablesOf(view).find(({ name }) => asked.table === undefined || name === asked.table);
  // The page says why it has no data.
  if (state.kind !== 'done' || !format || !table)
    return reply.redirect(`${addressOf(path, query)}#${view.name}`, 303);
  const { data, job } = state;
  const now = Date.parse(job.createdAt);
  const name = fileNameOf({ table: table.name, parameters: view.parameters, format, now });
  const bytes = writeTable(format, table, table.rows(data as Record<string, unknown>));
  return sendFile(reply, { name, type: format }, bytes);
}

async function sendExplore(
  reply: FastifyReply,
  page: ExplorePage,
  shown: { query: FormValues; cards: ComponentChildren; faults: FormFaults },
  status?: number,
): Promise<FastifyReply> {
  const { path, title, lead, intro, scripts = [] } = page;
  const { query, cards, faults } = shown;
  const { role, directUnits } = customerOf(reply.request);
  const aside = await page.aside?.(reply.request);
  return sendPage(
    reply,
    <Page
      title={title}
      heading={null}
      styles={['account.css', ...CHART_FILES.styles, 'explore.css']}
      libraries={CHART_FILES.libraries}
      scripts={[...CHART_FILES.scripts, ...scripts]}
      start="title"
      wide
    >
      <nav class="segments views" aria-label="Explore">
        {EXPLORE_PAGES.map(({ path: href, title: name }) => (
          <a key={href} href={href} aria-current={href === path ? 'page' : undefined}>
            {name}
          </a>
        ))}
        <a href="/account/charts">Shared charts</a>
      </nav>
      <h1 id="title" tabIndex={-1}>
        {title}
      </h1>
      <p class="lead">{lead}</p>
      <ExploreForm
        page={page}
        query={query}
        faults={faults}
        directUnits={isAble(role, 'work') ? directUnits : 0}
      />
      {cards ?? <div class="empty card">{intro}</div>}
      {aside}
    </Page>,
    status,
  );
}

/** The form of a page. It shows the cost of the call, or makes the call if it costs at most what the person has set. */
function ExploreForm(props: {
  page: ExplorePage;
  query: FormValues;
  faults: FormFaults;
  directUnits: number;
}): VNode {
  const { page, query, faults, directUnits } = props;
  const { path, form, fields } = page;
  const { '': _, ...ofFields } = faults;
  const shown = form?.() ?? <Fields rows={fields} />;
  return (
    <>
      {directUnits === 0 ? (
        <FilterForm path={path} values={query} faults={faults} button="Check cost">
          {shown}
        </FilterForm>
      ) : (
        <PostForm action={path} class="filters" form={{ values: query, faults: ofFields }}>
          <HiddenFields fields={{ intent: 'direct' }} />
          {shown}
          <Submit>Show (at most {counted(directUnits, 'unit')})</Submit>
        </PostForm>
      )}
      <p class="hint">
        {directUnits === 0
          ? 'The cost is shown before anything is fetched. '
          : 'A call that costs more shows its cost first. '}
        <a href="/profile#explore">{directUnits === 0 ? 'Skip this for small calls' : 'Change'}</a>
      </p>
    </>
  );
}

/** A view on its page. */
interface ShownView {
  view: View;
  state: ViewState;
}

/**
 * The views of a page with their states. Only the first one is shown until it has data, because its refusal is that of the
 * form. Views that need the data of another one come last.
 * @param known a state that has been found already.
 */
async function statesOf(
  request: FastifyRequest,
  [first, ...others]: readonly View[],
  query: FormValues,
  known?: ShownView,
): Promise<ShownView[]> {
  if (!first) return [];
  const shown = async (view: View): Promise<ShownView> =>
    known?.view.name === view.name ? known : { view, state: await stateOf(request, view, query[view.name]) };
  const main = await shown(first);
  if (main.state.kind !== 'done' || first.isEmpty?.(main.state.data)) return [main];
  const own = [main, ...(await Promise.all(others.map(shown)))];
  const next = own.flatMap(({ view, state }) =>
    state.kind === 'done' ? (view.next?.(state.data, query) ?? []) : [],
  );
  return [...own, ...(await Promise.all(next.map(shown)))];
}

async function findView(
  request: FastifyRequest,
  views: readonly View[],
  query: FormValues,
  name: string | undefined,
): Promise<View | undefined> {
  if (name === undefined) return undefined;
  const own = views.find((view) => view.name === name);
  if (own) return own;
  const shown = await statesOf(request, views, query);
  return shown.find(({ view }) => view.name === name)?.view;
}

/** The pages, in the order of their navigation. */
const EXPLORE_PAGES: readonly ExplorePage[] = [
  productPage,
  comparePage,
  searchPage,
  finderPage,
  categoriesPage,
  dealsPage,
  sellerPage,
  keywordPage,
  ranksPage,
  screenerPage,
  trendsPage,
  todayPage,
];

/** Registers the pages for exploring data. They may show pictures of the image host, if that is not this installation. */
export function registerExplore(account: FastifyInstance, pages: Pages): void {
  account.register(async (scope) => {
    allowProductPictures(scope, pages);
    scope.decorate('viewBytes', createViewBytes());
    scope.get('/explore', (_request, reply) => reply.redirect(productPage.path, 303));
    for (const page of EXPLORE_PAGES) registerExplorePage(scope, pages, page);
  });
}
