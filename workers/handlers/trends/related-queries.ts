import type { relatedQueries } from '../../../src/operations/trends/related-queries.ts';
import { fetchingEach } from '../handler.ts';
import { questionOf } from './question.ts';

/** One call for each keyword; all of them get their tokens from the same one to explore. */
export const handleRelatedQueries = fetchingEach<typeof relatedQueries>((input, { key }, context) =>
  context.upstream.trends.relatedQueries(questionOf(input), key, context),
);
