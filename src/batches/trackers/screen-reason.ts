import { z } from 'zod';
import type { TermFigures } from '../../brand-analytics/term-figures.ts';
import { SCHEMA_NAMES } from '../../operations/answers.ts';
import type { Range } from '../../operations/params/range.ts';
import type { SavedScreen } from './read-tracker.ts';

const RANGES = ['rank', 'change4', 'change12', 'clickShare', 'conversionShare'] as const;
const FILTERS = [...RANGES, 'newSince', 'brand', 'report', 'limit'] as const;

type Filter = (typeof FILTERS)[number];

const value = z.union([z.number(), z.string()]).nullable();

export const reasonSchema = z
  .object({
    filter: z
      .enum(FILTERS)
      .describe(
        'The filter that the term crossed; report: the term is in one of the two weeks only; limit: it matches in both, and is among the first limit terms in one of them only',
      ),
    before: value.describe('Value in the week of the run before; null: unknown, or not in that week'),
    after: value.describe('Value in the week of this run; null: unknown, or not in this week'),
    bound: value.describe('The end of the filter that was crossed'),
  })
  .register(SCHEMA_NAMES, { id: 'ScreenReason' });

/** Why a term entered or left a screen: a filter, with its value before and after. */
export type Reason = z.output<typeof reasonSchema>;

/**
 * Returns why a term that does not match in one of two weeks entered or left a screen: the filters that it does not pass there.
 * @param moved the term in both weeks; null: the week does not have it, or is no longer loaded.
 * @param outside in which of the two it was not among the terms of the screen.
 */
export function reasonsOf(
  screen: SavedScreen,
  { before, after }: { before: TermFigures | null; after: TermFigures | null },
  outside: 'before' | 'after',
): Reason[] {
  const there = outside === 'before' ? before : after;
  const reason = (filter: Filter, of: (term: TermFigures) => Reason['before'], bound: Reason['bound']) => ({
    filter,
    before: before && of(before),
    after: after && of(after),
    bound,
  });
  if (!there) return [reason('report', ({ rank }) => rank, null)];
  const crossed: Reason[] = RANGES.flatMap((name) => {
    const range = screen[name];
    return range && !isWithin(range, there[name])
      ? [reason(name, (term) => term[name], crossedEnd(range, there[name]))]
      : [];
  });
  const { newSince, brand } = screen;
  if (newSince !== undefined && there.firstSeen < newSince)
    crossed.push(reason('newSince', ({ firstSeen }) => firstSeen, newSince));
  if (brand !== undefined && !hasBrand(there, brand)) {
    const brandsOf = ({ brands }: TermFigures) => (brands ? brands.join(', ') || null : brand);
    crossed.push(reason('brand', brandsOf, brand));
  }
  return crossed.length > 0 ? crossed : [reason('limit', ({ rank }) => rank, screen.limit)];
}

/** A row of an answer matches. */
function hasBrand({ brands }: TermFigures, brand: string): boolean {
  return brands === undefined || brands.some((one) => one.toLowerCase() === brand.toLowerCase());
}

/** Unknown values are in no range. */
function isWithin({ min, max }: Range, found: number | null): boolean {
  return found !== null && (min === undefined || found >= min) && (max === undefined || found <= max);
}

function crossedEnd({ min, max }: Range, found: number | null): number | null {
  if (found !== null && max !== undefined && found > max) return max;
  return min ?? max ?? null;
}

const NAMES: Record<Exclude<Filter, 'report' | 'limit'>, string> = {
  rank: 'rank',
  change4: 'change in 4 weeks',
  change12: 'change in 12 weeks',
  clickShare: 'click share',
  conversionShare: 'conversion share',
  newSince: 'first seen',
  brand: 'brand',
};

const NUMBER = new Intl.NumberFormat('en');

/** Returns a reason in words, such as `rank 1,250, was 1,730; bound 1,500`. */
export function reasonText({ filter, before, after, bound }: Reason): string {
  switch (filter) {
    case 'report':
      if (after === null) return `not among the terms of this week; rank was ${shown(before)}`;
      return `rank ${shown(after)}; not among the terms of the week of the run before`;
    case 'limit':
      return `rank ${shown(after)}, was ${shown(before)}; matches in both weeks, among the first ${shown(bound)} in one`;
    default: {
      const unit = filter === 'clickShare' || filter === 'conversionShare' ? ' %' : '';
      const of = (one: Reason['before']) => shown(one) + (typeof one === 'number' ? unit : '');
      return `${NAMES[filter]} ${of(after)}, was ${of(before)}; bound ${of(bound)}`;
    }
  }
}

function shown(one: Reason['before']): string {
  if (one === null) return 'unknown';
  return typeof one === 'number' ? NUMBER.format(one) : one;
}
