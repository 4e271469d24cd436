import { LARGEST_WORD_ID } from '../brand-analytics/keywords/word-id.ts';
import type { RawRequest } from '../define.ts';
import { integer } from './scalars.ts';

/** The id of a search term, from the path. */
export function wordId() {
  return integer({ min: 1, max: LARGEST_WORD_ID }).meta({
    description: 'Id of the search term, from the operations search or rank',
    examples: [33],
  });
}

/** Combines the id in the path with the query parameters. */
export function withWordId({ query, params }: RawRequest): Record<string, unknown> {
  return { ...query, wordId: params.wordId };
}
