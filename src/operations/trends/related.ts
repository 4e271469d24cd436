import { z } from 'zod';
import { defineQueued, type Source } from '../define.ts';
import { mayLackFields } from '../params/answer-form.ts';
import { request } from '../params/request.ts';
import { type Column, columnsFrom, type Row } from '../tables/columns.ts';
import {
  echoed,
  echoOf,
  KEYWORD_NAMES,
  type KeywordInput,
  keywordParams,
  keywordsId,
  OF_TRENDS,
  scopeOf,
  staleUpTo,
  withWindow,
} from './keyword-question.ts';

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
function relatedSources(kind: 'queries' | 'topics', input: KeywordInput): Source[] {
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

function relatedColumns(term: Parameters<typeof columnsFrom>[0]): readonly Column[] {
  return columnsFrom({
    keyword: ['text', 'Keyword'],
    geo: ['text', 'Region, such as US; empty: the whole world'],
    list: ['text', 'top: the most frequent searches; rising: the fastest-growing ones'],
    ...term,
    value: ['number', 'In top: 0 to 100; in rising: growth in percent'],
    formattedValue: ['text', 'The value as upstream formats it'],
    isBreakout: ['boolean', "Whether the growth exceeds upstream's scale; only in rising"],
    link: ['text', "Address of upstream's page about the term"],
  });
}

/** Yields the related terms of an answer as rows: a topic by its title. */
function* relatedRows({ results, geo }: Record<string, unknown>): Generator<Row> {
  type Result = ReturnType<typeof shownRelated<Partial<RelatedQuery & RelatedTopic>>>;
  for (const { keyword, top, rising } of results as Result[]) {
    for (const [list, terms] of Object.entries({ top, rising }))
      for (const term of terms) yield { keyword, geo, list, ...term, topic: term.topic?.title };
  }
}

/** Returns the data without the links and formatted values of the terms, which are most of its size. */
function withoutLinks(data: Record<string, unknown>, input: object): Record<string, unknown> {
  if (mayLackFields(input)) return data;
  const bare = ({ link: _, formattedValue: __, ...term }: RelatedFacts) => term;
  const results = (data.results as Related<object>[]).map((result) => ({
    ...result,
    top: result.top.map(bare),
    rising: result.rising.map(bare),
  }));
  return { ...data, results };
}

/** Schema of `shownRelated`. @param term a query or a topic. */
function relatedShape(term: z.ZodRawShape) {
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

/** Defines an operation that lists related terms. @param related what differs between queries and topics. */
function defineRelated<const Name extends string, Term>(related: {
  kind: 'queries' | 'topics';
  name: Name;
  summary: string;
  column: Parameters<typeof columnsFrom>[0];
  answer: z.ZodObject;
  present(found: ReadonlyMap<string, Related<Term>>, input: KeywordInput): Record<string, unknown>;
}) {
  const { kind, name, summary, column, answer, present } = related;
  return defineQueued({
    ...OF_TRENDS,
    name,
    summary,
    tool: `web_trends_related_${kind}`,
    routes: [{ method: 'POST', path: `/api/webtrends/related-${kind}` }],
    params: request(KEYWORD_NAMES, keywordParams()),
    onDay: withWindow,
    source: (input) => relatedSources(kind, input),
    toolData: withoutLinks,
    tables: { [kind]: { columns: () => relatedColumns(column), rows: relatedRows } },
    respond: {
      type: 'json',
      records: { path: 'results' },
      answer,
      present: (found: ReadonlyMap<string, Related<Term>>, input) => ({
        data: { ...echoOf(input), ...present(found, input) },
      }),
    },
  });
}

export const relatedQueries = defineRelated({
  kind: 'queries',
  name: 'trends.related-queries',
  summary: 'Lists searches related to keywords: the most frequent and the fastest growing.',
  column: { query: ['text', 'Related search'] },
  answer: z.object({ ...echoed(), results: z.array(z.object(relatedShape({ query: z.string() }))) }),
  present: (found: ReadonlyMap<string, Related<RelatedQuery>>, { keyword }) => ({
    results: keyword.map((one) => shownRelated(one, found.get(one))),
  }),
});

export const relatedTopics = defineRelated({
  kind: 'topics',
  name: 'trends.related-topics',
  summary: 'Lists topics related to keywords, if upstream provides them.',
  column: { topic: ['text', 'Title of the related topic'] },
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
  present(found: ReadonlyMap<string, Related<RelatedTopic>>, { keyword }) {
    const results = keyword.map((one) => ({
      ...shownRelated(one, found.get(one)),
      available: found.get(one)?.available ?? false,
    }));
    return { available: results.some((result) => result.available), results };
  },
});
