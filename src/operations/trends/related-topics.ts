import { z } from 'zod';
import { defineQueued } from '../define.ts';
import { request } from '../params/request.ts';
import {
  echoed,
  echoOf,
  KEYWORD_NAMES,
  type KeywordInput,
  keywordParams,
  withWindow,
} from './keyword-question.ts';
import {
  type Related,
  type RelatedTopic,
  relatedRows,
  relatedShape,
  relatedSources,
  shownRelated,
} from './related.ts';

export const relatedTopics = defineQueued<'trends.related-topics', KeywordInput, Related<RelatedTopic>>({
  name: 'trends.related-topics',
  summary: 'Lists topics related to keywords, if upstream provides them.',
  tool: 'web_trends_related_topics',
  toolset: 'trends',
  routes: [{ method: 'POST', path: '/api/webtrends/related-topics' }],
  params: request(KEYWORD_NAMES, keywordParams()),
  onDay: withWindow,
  price: { text: '1', quote: () => 1 },
  pools: ['trends'],
  freshness: 'maxStale',
  queue: () => 'trends',
  source: (input) => relatedSources('topics', input),
  table: {
    columns: () => ['keyword', 'list', 'topic', 'value', 'formattedValue', 'isBreakout', 'link'],
    rows: relatedRows,
  },
  respond: {
    type: 'json',
    records: { path: 'results' },
    answer: z.object({
      ...echoed(),
      available: z.boolean().describe('Whether upstream provided topics; it often withholds them'),
      results: z.array(
        z.object({
          ...relatedShape({ topic: z.object({ mid: z.string(), title: z.string(), type: z.string() }) }),
          available: z.boolean(),
        }),
      ),
    }),
    // Upstream withholds topics from most clients, so an answer without topics is not a failure.
    present(found, input) {
      const results = input.keyword.map((keyword) => ({
        ...shownRelated(keyword, found.get(keyword)),
        available: found.get(keyword)?.available ?? false,
      }));
      const available = results.some((result) => result.available);
      return { data: { ...echoOf(input), available, results } };
    },
  },
});
