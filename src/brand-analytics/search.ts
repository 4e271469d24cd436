import { fluctuationOf, normaliseTerm, type ReportSite } from '../operations/brand-analytics/keywords.ts';
import type { FoundTerm } from '../operations/brand-analytics/search.ts';
import type { Queryable } from '../platform/db/pool.ts';
import { type KeywordFilter, keywordFilter, walkRanks } from './rank-walk.ts';
import type { LoadedWeek } from './weeks.ts';
import { findInWeek } from './word.ts';

interface Term {
  id: number;
  term: string;
  firstSeen: string;
}

interface RankedTerm extends Term {
  /** In the newest week. */
  rank: number | null;
}

/** The most terms with the prefix that are read, in alphabetical order. */
const MOST_PREFIXES = 1_000;

/** The most terms that are read although they are not in the newest week. */
const MOST_OLD = 1_000;

/**
 * Finds terms for a keyword: the term that equals it, then terms that start with it, then terms that contain its
 * words or its unbroken text, each by rank in the newest week. Terms without a rank in that week come last.
 * @param weeks of the site, the newest first.
 */
export async function searchTerms(
  database: Queryable,
  site: ReportSite,
  weeks: readonly LoadedWeek[],
  { keyword, limit }: { keyword: string; limit: number },
): Promise<FoundTerm[]> {
  const [newest] = weeks;
  if (!newest) return [];
  const wanted = normaliseTerm(keyword);
  const query = await keywordFilter(database, site, wanted, { inside: false });
  const walk = { filter: { keyword: wanted, inside: false }, after: 0, to: newest.lastRank, count: limit };
  const [prefixed, walked] = await Promise.all([
    termsWithPrefix(database, newest, wanted, limit),
    walkRanks(database, newest, walk),
  ]);
  const found = new Map(prefixed.map((term) => [term.id, term]));
  const ranks = new Map(walked.flatMap(({ id, rank }) => (found.has(id) ? [] : [[id, rank]])));
  for (const term of await termsById(database, site, [...ranks.keys()]))
    found.set(term.id, { ...term, rank: ranks.get(term.id) ?? null });
  if (found.size < limit && query) {
    const old = await termsWithTokens(database, site, query);
    for (const term of old)
      if (!found.has(term.id) && query.matches(term.term)) found.set(term.id, { ...term, rank: null });
  }
  const place = ({ term }: Term) => (term === wanted ? 0 : term.startsWith(wanted) ? 1 : 2);
  const rankOf = ({ rank }: RankedTerm) => rank ?? Number.MAX_SAFE_INTEGER;
  const chosen = [...found.values()]
    .sort((a, b) => place(a) - place(b) || rankOf(a) - rankOf(b) || a.id - b.id)
    .slice(0, limit);
  return lastSeen(database, weeks, chosen);
}

const ids = (terms: readonly Term[]) => terms.map(({ id }) => id);

/** Returns when each term was last ranked, going back from the newest week for terms that are not found yet. */
async function lastSeen(
  database: Queryable,
  weeks: readonly LoadedWeek[],
  terms: readonly Term[],
): Promise<FoundTerm[]> {
  const seen = new Map<number, { rank: number; fluctuation: number; week: string }>();
  for (const week of weeks) {
    const missing = ids(terms).filter((id) => !seen.has(id));
    if (missing.length === 0) break;
    for (const { id, rank, fluctuation } of await findInWeek(database, week, missing))
      seen.set(id, { rank, fluctuation, week: week.week });
  }
  return terms.map(({ id, term, firstSeen }) => {
    const last = seen.get(id);
    return {
      wordId: id,
      keyword: term,
      rank: last?.rank ?? null,
      reportDate: last?.week ?? null,
      firstSeen,
      lastSeen: last?.week ?? null,
      fluctuationType: fluctuationOf(last?.fluctuation ?? 0),
    };
  });
}

const TERM = 'id, term, first_seen::text as "firstSeen"';

/** Sorted by whether the term equals the prefix, then by rank. */
async function termsWithPrefix(
  database: Queryable,
  { site, table }: LoadedWeek,
  prefix: string,
  limit: number,
): Promise<RankedTerm[]> {
  const { rows } = await database.query<RankedTerm>(
    // In the "C" collation, all terms with a prefix are between the prefix and the prefix with the highest character.
    // All queries read the table of a week before the dictionary, because an import replaces them in this order.
    `select t.*, r.rank from ${table} r
      right join (
        select ${TERM} from aba_terms_${site}
        where term >= $1 and term < $1 || U&'\\+10FFFF' order by term limit ${MOST_PREFIXES}) t on t.id = r.term_id
      order by t.term <> $1, r.rank, t.id limit $2`,
    [prefix, limit],
  );
  return rows;
}

async function termsById(database: Queryable, site: ReportSite, wanted: readonly number[]): Promise<Term[]> {
  if (wanted.length === 0) return [];
  const { rows } = await database.query<Term>(
    `select ${TERM} from aba_terms_${site} where id = any($1::integer[])`,
    [wanted],
  );
  return rows;
}

async function termsWithTokens(
  database: Queryable,
  site: ReportSite,
  { tokens, choices }: KeywordFilter,
): Promise<Term[]> {
  const choice = choices.map((_, i) => `and tokens && $${i + 2}::integer[]`).join(' ');
  const { rows } = await database.query<Term>(
    `select ${TERM} from aba_terms_${site} where tokens @> $1::integer[] ${choice} limit ${MOST_OLD}`,
    [tokens, ...choices],
  );
  return rows;
}
