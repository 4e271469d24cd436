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
