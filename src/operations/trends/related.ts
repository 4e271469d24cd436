import { z } from 'zod';
import type { Source } from '../define.ts';
import { type KeywordInput, keywordsId, STALE_FOR_MS, scopeOf } from './keyword-question.ts';

/** What is searched for together with one keyword: Term is a query, or a topic. */
export interface Related<Term> {
  /** False where upstream gave no lists at all, not even empty ones. */
  available: boolean;
  top: (Term & RelatedFacts)[];
  rising: (Term & RelatedFacts)[];
}

export interface RelatedFacts {
  /** 0-100 in `top`; growth in percent in `rising`. */
  value: number;
  /** Upstream's words for it, in the language of the question. */
  formattedValue: string;
  /** A page of upstream about it. */
  link: string | null;
}

export interface RelatedQuery {
  query: string;
}

export interface RelatedTopic {
  topic: { mid: string; title: string; type: string };
}

/** A source for each keyword, so that questions about overlapping keywords share what they can. */
export function relatedSources(kind: 'queries' | 'topics', input: KeywordInput): Source[] {
  return input.keyword.map((keyword) => ({
    key: keyword,
    identity: `trends/related/${kind}/${scopeOf(input)}/${keywordsId([keyword])}`,
    staleForMs: STALE_FOR_MS,
  }));
}

/** The related terms of one keyword as an answer shows them. */
export function shownRelated<Term>(keyword: string, related: Related<Term> | undefined) {
  const rising = (related?.rising ?? []).map((term) => ({ ...term, isBreakout: isBreakout(term) }));
  return { keyword, top: related?.top ?? [], rising };
}

/** The same, in documentation. @param term a query, or a topic. */
export function relatedShape(term: z.ZodRawShape) {
  const facts = {
    value: z.number().describe('0-100 in top; growth in percent in rising'),
    formattedValue: z.string().describe("Upstream's words for it"),
    link: z.string().nullable(),
  };
  return {
    keyword: z.string(),
    top: z.array(z.object({ ...term, ...facts })).describe('The most frequent'),
    rising: z
      .array(
        z.object({
          ...term,
          ...facts,
          isBreakout: z.boolean().describe("Whether it has grown beyond upstream's scale"),
        }),
      )
      .describe('The fastest growing'),
  };
}

/** A growth beyond upstream's scale is told in a word, in any language; any other has digits. */
function isBreakout({ formattedValue }: RelatedFacts): boolean {
  return !/\p{Nd}/u.test(formattedValue);
}
