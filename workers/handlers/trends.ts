import { resolutionToAskFor } from '../../src/operations/trends/interest-by-region.ts';
import type { KeywordInput } from '../../src/operations/trends/keyword-question.ts';
import { needsTopics } from '../../src/operations/trends/trending.ts';
import { HOUR_MS } from '../../src/platform/durations.ts';
import type { KeywordQuestion } from '../../src/upstream/trends/trends.ts';
import { fetchingEach, type HandlersOf, single } from './handler.ts';

const DAY_HOURS = 24;
const REAL_TIME_HOURS = 4;

export const TRENDS_HANDLERS: HandlersOf<'trends'> = {
  'trends.interest-over-time': single((input, context) =>
    context.upstream.trends.interestOverTime(questionOf(input), context),
  ),

  'trends.interest-by-region': single((input, context) =>
    context.upstream.trends.interestByRegion(questionOf(input), resolutionToAskFor(input), context),
  ),

  // One call for each keyword; all of them get their provider tokens from one call to explore.
  'trends.related-queries': fetchingEach((input, key, context) =>
    context.upstream.trends.relatedQueries(questionOf(input), key, context),
  ),

  // Upstream returns topics only for a single keyword, so each keyword needs its own explore call.
  'trends.related-topics': fetchingEach((input, key, context) =>
    context.upstream.trends.relatedTopics(questionOf(input, [key]), context),
  ),

  // The window ends at the start of the day. The feed has only recent trends, so it can answer only for today.
  'trends.daily-trends': single(({ geo, hl, trendDate = '' }, context) => {
    const hours = (context.now() - Date.parse(trendDate)) / HOUR_MS;
    return context.upstream.trends.trending({ geo, hl, hours, allowFeed: hours <= DAY_HOURS }, context);
  }),

  // The feed has no topics, so it cannot filter by category.
  'trends.real-time-trends': single(async ({ geo, hl, category }, context) => {
    const question = { geo, hl, hours: REAL_TIME_HOURS, allowFeed: !needsTopics(category) };
    const list = await context.upstream.trends.trending(question, context);
    return { ...list, updatedAt: context.now() };
  }),
};

/** Returns the upstream question for an input with complete dates, about all or some of its keywords. */
export function questionOf(
  input: KeywordInput,
  keywords: readonly string[] = input.keyword,
): KeywordQuestion {
  const { startDate = '', endDate = '', geo, hl, property, category, timezone } = input;
  return { keywords, geo, startDate, endDate, hl, property, category, timezone };
}
