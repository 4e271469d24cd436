import { z } from 'zod';
import type { Source } from '../define.ts';
import { type KeywordInput, keywordsId, scopeOf } from './keyword-question.ts';
import { staleUpTo } from './stale-data.ts';

/** The related searches of one keyword. Term is a query or a topic. */
export interface Related<Term> {
  /** false if upstream returned no lists, not even empty ones. */
  available: boolean;
  top: (Term & RelatedFacts)[];
  rising: (Term & RelatedFacts)[];
}

export interface RelatedFacts {
  /** 0-100 in `top`; growth in percent in `rising`. */
  value: number;
  /** The value as upstream formats it, in the language of the request. */
  formattedValue: string;
  /** Address of upstream's page about the term. */
  link: string | null;
}

export interface RelatedQuery {
  query: string;
}

export interface RelatedTopic {
  topic: { mid: string; title: string; type: string };
}

/** Returns one source for each keyword, so that calls with overlapping keywords share fetches. */
export function relatedSources(kind: 'queries' | 'topics', input: KeywordInput): Source[] {
  return input.keyword.map((keyword) => ({
    key: keyword,
    identity: `trends/related/${kind}/${scopeOf(input)}/${keywordsId([keyword])}`,
    ...staleUpTo(input),
  }));
}

/** Returns the related terms of one keyword in the form of an answer. */
export function shownRelated<Term>(keyword: string, related: Related<Term> | undefined) {
  const rising = (related?.rising ?? []).map((term) => ({ ...term, isBreakout: isBreakout(term) }));
  return { keyword, top: related?.top ?? [], rising };
}

/** Returns the related terms of an answer as flat rows: a topic by its title. */
export function relatedRows(data: Record<string, unknown>): Record<string, unknown>[] {
  const results = data.results as ReturnType<typeof shownRelated<Partial<RelatedQuery & RelatedTopic>>>[];
  return results.flatMap(({ keyword, top, rising }) =>
    Object.entries({ top, rising }).flatMap(([list, terms]) =>
      terms.map((term) => ({ keyword, list, ...term, topic: term.topic?.title })),
    ),
  );
}

/** Schema of `shownRelated`. @param term a query or a topic. */
export function relatedShape(term: z.ZodRawShape) {
  const facts = {
    value: z.number().describe('In top: 0-100; in rising: growth in percent'),
    formattedValue: z.string().describe('The value as upstream formats it'),
    link: z.string().nullable(),
  };
  return {
    keyword: z.string(),
    top: z.array(z.object({ ...term, ...facts })).describe('The most frequent searches'),
    rising: z
      .array(
        z.object({
          ...term,
          ...facts,
          isBreakout: z.boolean().describe("Whether the growth exceeds upstream's scale"),
        }),
      )
      .describe('The fastest-growing searches'),
  };
}

/** Upstream writes growth beyond its scale as a word in the request's language; all other values contain digits. */
function isBreakout({ formattedValue }: RelatedFacts): boolean {
  return !/\p{Nd}/u.test(formattedValue);
}
