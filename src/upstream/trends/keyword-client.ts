import type { Property } from '../../operations/trends/keyword-question.ts';
import { invalidParameters, type SoukError } from '../../platform/errors.ts';
import { fingerprint } from '../../platform/fingerprint.ts';
import { stringifyJson } from '../../platform/json.ts';
import type { Cookies, Door } from './door.ts';
import { readGuarded } from './guarded-json.ts';
import { publicError, Refusal } from './refusal.ts';
import type { KeywordQuestion, KeywordTrends, TrendsContext } from './trends.ts';
import { readRegions, readRelatedQueries, readRelatedTopics, readTimeline } from './widget-data.ts';
import { readWidgets, type Widget, widgetOf } from './widgets.ts';

/** Tokens are good for so long, and calls to explore are the scarce ones. */
const TOKEN_LIFETIME_MS = 24 * 3_600_000;

const UPSTREAM_PROPERTIES: Record<Property, string> = {
  web: '',
  news: 'news',
  images: 'images',
  youtube: 'youtube',
  froogle: 'froogle',
};

/** Where the data of a type of widget are. */
const DATA_PATHS: Record<string, string> = {
  fe_line_chart: 'multiline',
  fe_multi_heat_map: 'comparedgeo',
  fe_geo_chart_explore: 'comparedgeo',
  fe_related_searches: 'relatedsearches',
};

/**
 * The explore side of the Trends site: a cookie opens `explore`, which says for some keywords what widgets there are and
 * gives each a token; with its token a widget's data can be had for a day, without any cookie.
 */
export function createKeywordClient(deps: {
  baseUrl: string;
  cookies: Cookies;
  explore: Door;
  widgetData: Door;
}): KeywordTrends {
  const { baseUrl, cookies, explore, widgetData } = deps;

  async function fetchWidgets(question: KeywordQuestion, context: TrendsContext): Promise<Widget[]> {
    const { hl, geo, startDate, endDate, category, property, timezone } = question;
    const time = `${startDate} ${endDate}`;
    const asked = {
      comparisonItem: question.keywords.map((keyword) => ({ keyword, geo, time })),
      category,
      property: UPSTREAM_PROPERTIES[property],
    };
    const url = addressOf('/trends/api/explore', { hl, tz: -timezone, req: stringifyJson(asked) });
    try {
      if ((await cookies.current()) === null) await fetchCookie(question, context);
      return await explore.ask(
        { method: 'POST', url },
        (response) => readWidgets(readGuarded(response)),
        context,
      );
    } catch (error) {
      throw unknownRegion(error, geo) ?? publicError(error, context);
    }
  }

  async function fetchCookie({ keywords, geo, hl }: KeywordQuestion, context: TrendsContext): Promise<void> {
    const url = addressOf('/trends/explore', { q: keywords.join(','), ...(geo === '' ? {} : { geo }), hl });
    await explore.visit(url, context);
  }

  /**
   * The data of one widget. A token that is not taken any more is replaced once, and so is an explore answer of before
   * that lacks the widget: a day is a long time to go without what upstream left out once.
   */
  async function dataOf<T>(
    question: KeywordQuestion,
    context: TrendsContext,
    choose: (widgets: readonly Widget[]) => Widget | undefined,
    read: (answer: unknown, request: Record<string, unknown>) => T,
  ): Promise<T> {
    const preliminary = { identity: exploreId(question), freshForMs: TOKEN_LIFETIME_MS };
    let isNew = false;
    const fetch = () => {
      isNew = true;
      return fetchWidgets(question, context);
    };
    const explored = (insteadOf?: Widget[]) =>
      context.prepare(preliminary, fetch, insteadOf ? { insteadOf } : {});
    const ask = async (widget: Widget | undefined) => {
      if (!widget) throw new Refusal('malformed', 'the explore answer lacks the widget');
      const { type, request, token } = widget;
      const path = DATA_PATHS[type];
      if (!path) throw new Refusal('malformed', `no data are known for a widget of type ${type}`);
      const params = { hl: question.hl, tz: -question.timezone, req: stringifyJson(request), token };
      const url = addressOf(`/trends/api/widgetdata/${path}`, params);
      return widgetData.ask(
        { method: 'GET', url },
        (response) => read(readGuarded(response), request),
        context,
      );
    };
    try {
      let widgets = await explored();
      if (!choose(widgets) && !isNew) widgets = await explored(widgets);
      try {
        return await ask(choose(widgets));
      } catch (error) {
        if (!(error instanceof Refusal && error.kind === 'staleToken')) throw error;
        return await ask(choose(await explored(widgets)));
      }
    } catch (error) {
      throw publicError(error, context);
    }
  }

  function addressOf(path: string, params: Record<string, string | number>): URL {
    const url = new URL(`${baseUrl}${path}`);
    for (const [name, value] of Object.entries(params)) url.searchParams.set(name, String(value));
    return url;
  }

  return {
    interestOverTime: (question, context) =>
      dataOf(
        question,
        context,
        (widgets) => widgetOf(widgets, 'TIMESERIES'),
        (answer, { resolution }) => readTimeline(answer, resolution, question.keywords.length),
      ),

    interestByRegion: (question, resolution, context) =>
      dataOf(
        question,
        context,
        (widgets) => {
          const widget = widgetOf(widgets, 'GEO_MAP');
          // One of the two things that may be changed under a token.
          return resolution === null || !widget
            ? widget
            : { ...widget, request: { ...widget.request, resolution } };
        },
        (answer, request) => readRegions(answer, request.resolution, question.keywords.length),
      ),

    relatedQueries: (question, keyword, context) =>
      dataOf(
        question,
        context,
        (widgets) => widgetOf(widgets, 'RELATED_QUERIES', keyword),
        readRelatedQueries,
      ),

    relatedTopics: (question, context) =>
      dataOf(question, context, (widgets) => widgetOf(widgets, 'RELATED_TOPICS'), readRelatedTopics),
  };
}

/** The display of times is no part of what a token is for. */
function exploreId({ timezone: _, ...asked }: KeywordQuestion): string {
  return `trends/explore/${fingerprint(asked)}`;
}

/** What upstream does not understand can only be the part of a country: the rest was checked before. */
function unknownRegion(error: unknown, geo: string): SoukError | null {
  const isRefused = error instanceof Refusal && error.kind === 'badRequest';
  return isRefused && geo.includes('-') ? unknownGeo(geo) : null;
}

/** For a region of the right form that upstream does not know. */
export function unknownGeo(geo: string): SoukError {
  return invalidParameters([
    { parameter: 'geo', problem: `${geo} is not a region that search trends are known for` },
  ]);
}
