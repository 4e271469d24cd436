import { findWord, type Word } from '../../../src/brand-analytics/word.ts';
import type { ReportSite } from '../../../src/operations/brand-analytics/keywords/sites.ts';
import { siteOfWord } from '../../../src/operations/brand-analytics/keywords/word-id.ts';
import type { Queryable } from '../../../src/platform/db/pool.ts';
import { SoukError } from '../../../src/platform/errors.ts';

/** Returns a term by its id. @throws SoukError WORD_NOT_FOUND. */
export async function knownWord(
  database: Queryable,
  wordId: number,
): Promise<Word & { country: ReportSite }> {
  const country = siteOfWord(wordId);
  const word = country && (await findWord(database, country, wordId));
  if (!word) throw new SoukError('WORD_NOT_FOUND', { message: `No keyword with the id ${wordId} exists.` });
  return { ...word, country };
}
