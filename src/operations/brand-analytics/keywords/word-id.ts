import { type ReportSite, siteOfDomain } from './sites.ts';

/** A term's id is a multiple of this plus the domain number of its site, so the id determines the site. */
export const WORD_ID_STEP = 16;

/** The database stores ids in four bytes, which allows 134 million terms for each site. */
export const LARGEST_WORD_ID = 2 ** 31 - 1;

/** Returns the site of a term from its id; undefined when no term can have this id. */
export function siteOfWord(wordId: number): ReportSite | undefined {
  return wordId > WORD_ID_STEP ? siteOfDomain(wordId % WORD_ID_STEP) : undefined;
}
