import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { ComponentChildren } from 'preact';
import { FilterForm } from '../../kit/form.tsx';
import { type FormFaults, type FormValues, readValues } from '../../kit/form-request.ts';
import { Page } from '../../kit/layout.tsx';
import { addressOf } from '../../kit/paging.tsx';
import { sendPage } from '../../kit/render.tsx';
import { CHART_FILES } from '../../kit/time-chart.tsx';
import { baseUrlOf, type Pages } from '../../pages.ts';
import { refusedForm } from '../customer-api.ts';
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
const PAGES = [['/explore/product', 'Product']] as const;

/** Registers a page. Its address has the values of the form, and the job of each view whose call was made. */
export function registerExplorePage(scope: FastifyInstance, pages: Pages, page: ExplorePage): void {
  scope.get(page.path, async (request, reply) => {
    const query = presentOf(readValues(request.query));
    const views = page.views(query);
    if (views === null) return sendExplore(reply, page, { query, cards: null, faults: {} });
    const csv = views.find(({ name, rows }) => rows !== undefined && name === query.csv);
    if (csv) return sendCsv(request, reply, csv, query[csv.name]);
    return showViews(reply, views, query);
  });

  scope.post(page.path, async (request, reply) => {
    const { view: name, _csrf, ...query } = presentOf(readValues(request.body));
    const views = page.views(query) ?? [];
    const view = views.find((one) => one.name === name);
    if (!view) return reply.redirect(addressOf(page.path, query), 303);
    const made = await makeCall(request, view);
    if ('jobId' in made)
      return reply.redirect(
        `${addressOf(page.path, { ...query, [view.name]: made.jobId })}#${view.name}`,
        303,
      );
    return showViews(reply, views, query, { view, state: { kind: 'refused', answer: made.answer } });
  });

  /** @param known the state of a view that is known already. */
  async function showViews(
    reply: FastifyReply,
    views: readonly View[],
    query: FormValues,
    known?: { view: View; state: ViewState },
  ): Promise<FastifyReply> {
    const { request } = reply;
    const [first, ...others] = views;
    if (!first) throw new Error('a page needs a view');
    const state = (view: View) =>
      known?.view === view ? known.state : stateOf(request, view, query[view.name]);
    const main = await state(first);
    const faults = main.kind === 'refused' ? faultsOf(page, main) : {};
    const place: CardPlace = {
      ...{ path: page.path, query, imageCdnUrl: pages.imageCdnUrl },
      baseUrl: baseUrlOf(pages, request),
    };
    // The other views wait for the first one, whose refusal is that of the form.
    const rest = main.kind === 'done' ? await Promise.all(others.map(state)) : [];
    const states = [main, ...rest];
    const isFormRefused = Object.keys(faults).some((field) => field !== '');
    const cards = isFormRefused
      ? null
      : states.map((state, i) => {
          const view = views[i];
          return view && <ViewCard key={view.name} view={view} state={state} place={place} />;
        });
    const status = main.kind === 'refused' ? main.answer.status : 200;
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
  jobId: string | undefined,
): Promise<FastifyReply> {
  const state = await stateOf(request, view, jobId);
  const rows = state.kind === 'done' ? (view.rows?.(state.data) ?? []) : [];
  return reply
    .type('text/csv; charset=utf-8')
    .header('cache-control', 'no-store')
    .header('content-disposition', `attachment; filename="souk-${view.name}.csv"`)
    .send(rowsCsv(rows));
}

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
      <nav class="segments" aria-label="Explore">
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
