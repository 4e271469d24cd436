import { type ReportSite, siteOfDomain } from './sites.ts';

/** Ids of terms are multiples of this plus the domain number of their site, so that an id implies its site. */
export const WORD_ID_STEP = 16;

/** Ids are four bytes in the database: room for 134 million terms a site. */
export const LARGEST_WORD_ID = 2 ** 31 - 1;

/** The site of a term by its id; undefined when no term can have this id. */
export function siteOfWord(wordId: number): ReportSite | undefined {
  return wordId > WORD_ID_STEP ? siteOfDomain(wordId % WORD_ID_STEP) : undefined;
}
