import { LARGEST_WORD_ID } from '../brand-analytics/keywords/word-id.ts';
import type { RawRequest } from '../define.ts';
import { integer } from './scalars.ts';

/** The id of a term, from the path. */
export function wordId() {
  return integer({ min: 1, max: LARGEST_WORD_ID }).meta({
    description: 'Id of the keyword, as search and rank give it',
    examples: [33],
  });
}

/** The parameters of a path below a word: its id beside those of the query. */
export function withWordId({ query, params }: RawRequest): Record<string, unknown> {
  return { ...query, wordId: params.wordId };
}
