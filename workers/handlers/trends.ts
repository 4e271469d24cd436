import { resolutionToAskFor } from '../../src/operations/trends/interest-by-region.ts';
import type { KeywordInput } from '../../src/operations/trends/keyword-question.ts';
import { needsTopics } from '../../src/operations/trends/real-time-trends.ts';
import type { KeywordQuestion } from '../../src/upstream/trends/trends.ts';
import { fetchingEach, type HandlersOf, single } from './handler.ts';

const HOUR_MS = 3_600_000;
const DAY_HOURS = 24;
const REAL_TIME_HOURS = 4;

export const TRENDS_HANDLERS: HandlersOf<'trends'> = {
  'trends.interest-over-time': single((input, context) =>
    context.upstream.trends.interestOverTime(questionOf(input), context),
  ),

  'trends.interest-by-region': single((input, context) =>
    context.upstream.trends.interestByRegion(questionOf(input), resolutionToAskFor(input), context),
  ),

  // One call for each keyword; all of them get their tokens from the same call to explore.
  'trends.related-queries': fetchingEach((input, { key }, context) =>
    context.upstream.trends.relatedQueries(questionOf(input), key, context),
  ),

  // Upstream gives topics only to a question about one keyword, so each has an explore of its own.
  'trends.related-topics': fetchingEach((input, { key }, context) =>
    context.upstream.trends.relatedTopics(questionOf(input, [key]), context),
  ),

  // The window reaches to the beginning of the day. The feed has only recent trends, so it suffices for today.
  'trends.daily-trends': single(({ geo, hl, trendDate = '' }, context) => {
    const hours = (context.now() - Date.parse(trendDate)) / HOUR_MS;
    return context.upstream.trends.trending({ geo, hl, hours, feedWillDo: hours <= DAY_HOURS }, context);
  }),

  // The feed has no topics, so it does not suffice where only some are wanted.
  'trends.real-time-trends': single(async ({ geo, hl, category }, context) => {
    const question = { geo, hl, hours: REAL_TIME_HOURS, feedWillDo: !needsTopics(category) };
    const list = await context.upstream.trends.trending(question, context);
    return { ...list, updatedAt: context.now() };
  }),
};

/** The question to upstream for an input whose window is complete, about all of its keywords or some. */
function questionOf(input: KeywordInput, keywords: readonly string[] = input.keyword): KeywordQuestion {
  const { startDate = '', endDate = '', geo, hl, property, category, timezone } = input;
  return { keywords, geo, startDate, endDate, hl, property, category, timezone };
}
