import type { relatedTopics } from '../../../src/operations/trends/related-topics.ts';
import { fetchingEach } from '../handler.ts';
import { questionOf } from './question.ts';

/** Upstream tells topics only to those who ask about one keyword, so each has an explore of its own. */
export const handleRelatedTopics = fetchingEach<typeof relatedTopics>((input, { key }, context) =>
  context.upstream.trends.relatedTopics(questionOf(input, [key]), context),
);
