import type { DetailLevel } from './detail-level.ts';
import { NAMED_SERIES } from './named-series.ts';

/** Parts of decoded products that only some calls return. */
type Part = 'decoded' | 'history' | 'csv' | 'salesRanks' | 'buyBox' | 'rating';

/** Whether a call returns a part, and the parameter that adds it. */
export type PartCondition = readonly [part: Part, isReturned: boolean | undefined, parameter: string];

/** The parts to which series belong, besides `history`. */
const PARTS_OF_SERIES: ReadonlyMap<string, readonly Part[]> = new Map<string, readonly Part[]>([
  ...NAMED_SERIES.map(({ name }): [string, readonly Part[]] => [name, ['csv']]),
  ['buyBox', ['csv', 'buyBox']],
  ['buyBoxUsed', ['csv', 'buyBox']],
  ['buyBoxSeller', ['buyBox']],
  ['buyBoxUsedSeller', ['buyBox']],
  ['rating', ['csv', 'rating']],
  ['reviewCount', ['csv', 'rating']],
  ['ratingCountOfVariation', ['rating']],
  ['reviewCountOfVariation', ['rating']],
  ['salesRanks', ['salesRanks']],
]);

/**
 * Returns what look-ups and searches need for a decoded field, and lack.
 * @param buybox whether the Buy Box was fetched, and how to get it.
 */
export function productFieldNeeds(
  field: string,
  input: { decode?: boolean | undefined; history: boolean; detailLevel: DetailLevel; rating: boolean },
  buybox: readonly [isFetched: boolean, parameter: string],
): string[] {
  const { decode, history, detailLevel, rating } = input;
  return decodedFieldNeeds(field, [
    ['decoded', decode, 'decode=1'],
    ['history', history, 'history=1'],
    ['history', detailLevel !== 'summary', 'detailLevel=lite or full'],
    ['salesRanks', detailLevel === 'full', 'detailLevel=full'],
    ['buyBox', ...buybox],
    ['rating', rating, 'rating=1'],
  ]);
}

/** Returns the parameters without which no product of an answer has a decoded field, such as `history.buyBox`. */
export function decodedFieldNeeds(field: string, conditions: readonly PartCondition[]): string[] {
  const [first = '', second = '', third = ''] = field.split('.');
  const parts = partsOf(first, second, third);
  const missing = conditions.filter(([part, isReturned]) => parts.includes(part) && !isReturned);
  return [...new Set(missing.map(([, , parameter]) => parameter))];
}

function partsOf(first: string, second: string, third: string): readonly Part[] {
  if (first === 'history') return ['decoded', 'history', ...(PARTS_OF_SERIES.get(second) ?? [])];
  if (first !== 'statistics') return [];
  // Statistics are there without the histories from which the provider computes them.
  const parts = PARTS_OF_SERIES.get(third) ?? [];
  return ['decoded', ...parts.filter((part) => part !== 'csv')];
}
