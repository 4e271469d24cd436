import type { KeywordInput } from '../../../src/operations/trends/keyword-question.ts';
import type { KeywordQuestion } from '../../../src/upstream/trends/trends.ts';

/** What upstream is asked for an input whose window is complete, about all of its keywords or some. */
export function questionOf(
  input: KeywordInput,
  keywords: readonly string[] = input.keyword,
): KeywordQuestion {
  const { startDate = '', endDate = '', geo, hl, property, category, timezone } = input;
  return { keywords, geo, startDate, endDate, hl, property, category, timezone };
}
