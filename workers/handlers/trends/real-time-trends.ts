import { needsTopics, type realTimeTrends } from '../../../src/operations/trends/real-time-trends.ts';
import { single } from '../handler.ts';

const WINDOW_HOURS = 4;

/** The feed has no topics, so it will not do where only some are wanted. */
export const handleRealTimeTrends = single<typeof realTimeTrends>(async ({ geo, hl, category }, context) => {
  const question = { geo, hl, hours: WINDOW_HOURS, feedWillDo: !needsTopics(category) };
  const list = await context.upstream.trends.trending(question, context);
  return { ...list, updatedAt: context.now() };
});
