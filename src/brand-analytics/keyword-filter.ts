import type { ReportSite } from '../operations/brand-analytics/keywords/sites.ts';
import { REPORT_SITES } from '../operations/brand-analytics/keywords/sites.ts';
import {
  piecesOfKeyword,
  stemOf,
  tokensOfUnbroken,
  wordsOf,
  wordToken,
} from '../operations/brand-analytics/keywords/tokens.ts';
import type { Queryable } from '../platform/db/pool.ts';

/** How the terms that match a keyword are found. */
export interface KeywordFilter {
  /** Tokens that every matching term has. */
  tokens: number[];
  /** Lists of tokens. Every matching term has a token of each list. */
  choices: number[][];
  /** Texts that every matching term contains. They are parts of so many words that reading terms is faster than looking up tokens. */
  contained: string[];
  /** Confirms a candidate: tokens are hashes and may collide, and pairs may come from different parts of the text. */
  matches(term: string): boolean;
}

/** Shorter words are not looked for inside other words: parts of two letters are in most terms. */
const SHORTEST_PART = 3;

/** If more words than this contain a part, the terms are searched for it instead of the words. */
const MOST_WORDS = 1_000;

/**
 * Converts a keyword to a filter. A term matches if it has all words of the keyword in any order, each in any
 * grammatical form that the language of the site reduces to the same stem, and all unbroken text of the keyword
 * unchanged.
 * @param options.inside whether a word of three letters or more also matches inside longer words.
 * @returns null if the keyword has no letter or digit, which matches no term.
 */
export async function keywordFilter(
  database: Queryable,
  site: ReportSite,
  keyword: string,
  { inside }: { inside: boolean },
): Promise<KeywordFilter | null> {
  const { words, unbroken } = piecesOfKeyword(keyword);
  if (words.length + unbroken.length === 0) return null;
  const filter = {
    tokens: unbroken.flatMap(tokensOfUnbroken),
    choices: [] as number[][],
    contained: [] as string[],
  };
  const isWord: ((word: string) => boolean)[] = [];
  for (const word of words) {
    const isPart = inside && word.length >= SHORTEST_PART;
    const known = await knownWords(database, site, word, isPart);
    if (known.length > MOST_WORDS) {
      filter.contained.push(word);
      isWord.push((other) => other.includes(word));
      continue;
    }
    const found = new Set(known);
    const stem = stemOf(word, site);
    filter.choices.push([...new Set([word, ...known].map((each) => wordToken(each, site)))]);
    isWord.push((other) => found.has(other) || stemOf(other, site) === stem);
  }
  return {
    ...filter,
    matches(term) {
      if (!unbroken.every((part) => term.includes(part))) return false;
      const found = isWord.length === 0 ? [] : wordsOf(term);
      return isWord.every((test) => found.some(test));
    },
  };
}

/** Returns the words with the same stem, and those that contain the word if `isPart`; at most one more than is useful. */
async function knownWords(
  database: Queryable,
  site: ReportSite,
  word: string,
  isPart: boolean,
): Promise<string[]> {
  const { rows } = await database.query<{ word: string }>(
    `(select word from aba_words_${site} where stem = aba_stem($1, $2) limit ${MOST_WORDS})
     union (select word from aba_words_${site} where $3 and word like '%' || $2 || '%' limit ${MOST_WORDS + 1})`,
    [REPORT_SITES[site].domain, word, isPart],
  );
  return rows.flatMap((row) => {
    const pieces = wordsOf(row.word);
    return pieces.length === 1 ? pieces : pieces.filter((piece) => piece.includes(word));
  });
}
