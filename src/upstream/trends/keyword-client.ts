import type { Preliminary } from '../../operations/define.ts';
import type { Property } from '../../operations/trends/keyword-question.ts';
import { DAY_MS } from '../../platform/durations.ts';
import { invalidParameters, type SoukError } from '../../platform/errors.ts';
import { fingerprint } from '../../platform/fingerprint.ts';
import { stringifyJson } from '../../platform/json.ts';
import {
  type Cookies,
  publicError,
  type RateLimitedEndpoint,
  Refusal,
  trendsUrl,
} from './rate-limited-endpoint.ts';
import type { KeywordQuestion, KeywordTrends, TrendsContext } from './trends.ts';
import {
  readGuarded,
  readRegions,
  readRelatedQueries,
  readRelatedTopics,
  readTimeline,
  readWidgets,
  type Widget,
  widgetOf,
} from './widgets.ts';

const UPSTREAM_PROPERTIES: Record<Property, string> = {
  web: '',
  news: 'news',
  images: 'images',
  youtube: 'youtube',
  froogle: 'froogle',
};

interface ExploreClient {
  /** Returns the widgets of some keywords, each with its token. */
  fetchWidgets(question: KeywordQuestion, context: TrendsContext): Promise<Widget[]>;
}

/** The endpoint `explore` of the Trends site, which requires a cookie. */
export function createExploreClient(deps: {
  baseUrl: string;
  cookies: Cookies;
  endpoint: RateLimitedEndpoint;
}): ExploreClient {
  const { baseUrl, cookies, endpoint } = deps;

  async function fetchCookie({ keywords, geo, hl }: KeywordQuestion, context: TrendsContext): Promise<void> {
    const params = { q: keywords.join(','), ...(geo === '' ? {} : { geo }), hl };
    await endpoint.visit(trendsUrl(baseUrl, '/trends/explore', params), context);
  }

  return {
    async fetchWidgets(question, context) {
      const { hl, timezone } = question;
      const params = { hl, tz: -timezone, req: stringifyJson(exploreRequest(question)) };
      const url = trendsUrl(baseUrl, '/trends/api/explore', params);
      try {
        if ((await cookies.current()) === null) await fetchCookie(question, context);
        return await endpoint.ask(
          { method: 'POST', url },
          (response) => readWidgets(readGuarded(response)),
          context,
        );
      } catch (error) {
        throw unknownRegion(error, question.geo) ?? publicError(error, context);
      }
    },
  };
}

function exploreRequest({ keywords, geo, startDate, endDate, category, property }: KeywordQuestion) {
  const time = `${startDate} ${endDate}`;
  return {
    comparisonItem: keywords.map((keyword) => ({ keyword, geo, time })),
    category,
    property: UPSTREAM_PROPERTIES[property],
  };
}

/** All other parameters are validated before, so upstream can only reject the region. */
function unknownRegion(error: unknown, geo: string): SoukError | null {
  const isRefused = error instanceof Refusal && error.kind === 'badRequest';
  return isRefused && geo.includes('-') ? unknownGeo(geo) : null;
}

/** The error for a well-formed region that upstream does not know. */
export function unknownGeo(geo: string): SoukError {
  return invalidParameters([{ parameter: 'geo', problem: `${geo} is not a region with search trends` }]);
}

/** Calls to explore have the strictest limit, so its answers are kept for as long as their tokens are valid. */
const TOKEN_LIFETIME_MS = DAY_MS;

/** The endpoint with the data of each widget type. */
const DATA_PATHS: Record<string, string> = {
  fe_line_chart: 'multiline',
  fe_multi_heat_map: 'comparedgeo',
  fe_geo_chart_explore: 'comparedgeo',
  fe_related_searches: 'relatedsearches',
};

/** Selects the widget with the data, and reads the data. */
interface WidgetData<T> {
  choose(widgets: readonly Widget[]): Widget | undefined;
  read(answer: unknown, request: Record<string, unknown>): T;
}

interface KeywordDeps {
  baseUrl: string;
  explore: ExploreClient;
  widgetData: RateLimitedEndpoint;
}

/** The keyword API of the Trends site: explore returns widgets, whose tokens give access to their data for a day. */
export function createKeywordClient(deps: KeywordDeps): KeywordTrends {
  return {
    interestOverTime: (question, context) =>
      dataOf(deps, question, context, {
        choose: (widgets) => widgetOf(widgets, 'TIMESERIES'),
        read: (answer, { resolution }) => readTimeline(answer, resolution, question.keywords.length),
      }),

    interestByRegion: (question, resolution, context) =>
      dataOf(deps, question, context, {
        choose: (widgets) => withResolution(widgetOf(widgets, 'GEO_MAP'), resolution),
        read: (answer, request) => readRegions(answer, request.resolution, question.keywords.length),
      }),

    relatedQueries: (question, keyword, context) =>
      dataOf(deps, question, context, {
        choose: (widgets) => widgetOf(widgets, 'RELATED_QUERIES', keyword),
        read: readRelatedQueries,
      }),

    relatedTopics: (question, context) =>
      dataOf(deps, question, context, {
        choose: (widgets) => widgetOf(widgets, 'RELATED_TOPICS'),
        read: readRelatedTopics,
      }),
  };
}

/**
 * Fetches the data of one widget. A stored explore answer is replaced once, when upstream refuses its token or when it
 * lacks the widget, because upstream omits widgets at times.
 */
async function dataOf<T>(
  deps: KeywordDeps,
  question: KeywordQuestion,
  context: TrendsContext,
  { choose, read }: WidgetData<T>,
): Promise<T> {
  const preliminary: Preliminary = {
    identity: exploreId(question),
    provider: 'trends',
    freshForMs: TOKEN_LIFETIME_MS,
  };
  let isNew = false;
  const fetch = () => {
    isNew = true;
    return deps.explore.fetchWidgets(question, context);
  };
  const explored = (insteadOf?: Widget[]) =>
    context.prepare(preliminary, fetch, insteadOf ? { insteadOf } : {});
  try {
    let widgets = await explored();
    if (!choose(widgets) && !isNew) widgets = await explored(widgets);
    try {
      return await fetchData(deps, question, context, choose(widgets), read);
    } catch (error) {
      if (!(error instanceof Refusal && error.kind === 'staleToken')) throw error;
      return await fetchData(deps, question, context, choose(await explored(widgets)), read);
    }
  } catch (error) {
    throw publicError(error, context);
  }
}

async function fetchData<T>(
  { baseUrl, widgetData }: KeywordDeps,
  question: KeywordQuestion,
  context: TrendsContext,
  widget: Widget | undefined,
  read: WidgetData<T>['read'],
): Promise<T> {
  if (!widget) throw new Refusal('malformed', 'the explore answer lacks the widget');
  const { type, request, token } = widget;
  const path = DATA_PATHS[type];
  if (!path) throw new Refusal('malformed', `no data are known for a widget of type ${type}`);
  const params = { hl: question.hl, tz: -question.timezone, req: stringifyJson(request), token };
  const url = trendsUrl(baseUrl, `/trends/api/widgetdata/${path}`, params);
  return widgetData.ask({ method: 'GET', url }, (response) => read(readGuarded(response), request), context);
}

/** Returns the identity of an explore answer. It omits the time zone, which affects only the display of times. */
function exploreId({ timezone: _, ...asked }: KeywordQuestion): string {
  return `trends/explore/${fingerprint(asked)}`;
}

/** Sets the resolution, one of the two fields that may differ from the request for which the token was issued. */
function withResolution(widget: Widget | undefined, resolution: string | null): Widget | undefined {
  return widget && resolution !== null ? { ...widget, request: { ...widget.request, resolution } } : widget;
}
