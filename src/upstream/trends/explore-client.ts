import type { Property } from '../../operations/trends/keyword-question.ts';
import { invalidParameters, type SoukError } from '../../platform/errors.ts';
import { stringifyJson } from '../../platform/json.ts';
import { readGuarded } from './guarded-json.ts';
import type { Cookies, RateLimitedEndpoint } from './rate-limited-endpoint.ts';
import { publicError, Refusal } from './refusal.ts';
import type { KeywordQuestion, TrendsContext } from './trends.ts';
import { trendsUrl } from './trends-url.ts';
import { readWidgets, type Widget } from './widgets.ts';

const UPSTREAM_PROPERTIES: Record<Property, string> = {
  web: '',
  news: 'news',
  images: 'images',
  youtube: 'youtube',
  froogle: 'froogle',
};

export interface ExploreClient {
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
