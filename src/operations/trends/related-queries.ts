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
  type RelatedQuery,
  relatedRows,
  relatedShape,
  relatedSources,
  shownRelated,
} from './related.ts';

export const relatedQueries = defineQueued<'trends.related-queries', KeywordInput, Related<RelatedQuery>>({
  name: 'trends.related-queries',
  summary: 'Lists searches related to keywords: the most frequent and the fastest growing.',
  tool: 'web_trends_related_queries',
  toolset: 'trends',
  routes: [{ method: 'POST', path: '/api/webtrends/related-queries' }],
  params: request(KEYWORD_NAMES, keywordParams()),
  onDay: withWindow,
  price: { text: '1', quote: () => 1 },
  pools: ['trends'],
  freshness: 'maxStale',
  queue: () => 'trends',
  source: (input) => relatedSources('queries', input),
  table: {
    columns: () => ['keyword', 'list', 'query', 'value', 'formattedValue', 'isBreakout', 'link'],
    rows: relatedRows,
  },
  respond: {
    type: 'json',
    records: { path: 'results' },
    answer: z.object({ ...echoed(), results: z.array(z.object(relatedShape({ query: z.string() }))) }),
    present: (found, input) => {
      const results = input.keyword.map((keyword) => shownRelated(keyword, found.get(keyword)));
      return { data: { ...echoOf(input), results } };
    },
  },
});
