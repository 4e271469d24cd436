import { findWord, type Word } from '../../../src/brand-analytics/word.ts';
import { type ReportSite, siteOfWord } from '../../../src/operations/brand-analytics/keywords.ts';
import { SoukError } from '../../../src/platform/errors.ts';
import type { Reports } from './from-reports.ts';

/** Returns a term of the loaded weeks by its id. @throws SoukError WORD_NOT_FOUND. */
export async function knownWord(
  { database, weeks }: Pick<Reports, 'database' | 'weeks'>,
  wordId: number,
): Promise<Word & { country: ReportSite }> {
  const country = siteOfWord(wordId);
  // Without a week, the terms may be those of another provider.
  const word = country && weeks.length > 0 && (await findWord(database, country, wordId));
  if (!word) throw new SoukError('WORD_NOT_FOUND', { message: `No keyword with the id ${wordId} exists.` });
  return { ...word, country };
}
