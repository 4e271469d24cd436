import { greatest, least, median } from 'd3-array';
import { addDays } from '../../platform/calendar.ts';
import { ratio, rounded } from './figures.ts';

/** One of the three most clicked products of a search term. Shares in percent; null is blank in the report. */
export interface Clicked {
  position: number;
  asin: string;
  clickShare: number | null;
  conversionShare: number | null;
}

/** A search term in a loaded week. */
export interface KeywordWeek {
  /** Its Saturday, YYYY-MM-DD. */
  week: string;
  /** null if the term was not ranked. */
  rank: number | null;
  clicked: readonly Clicked[];
}

/** What the reports of a site say about a search term. */
export interface KeywordReports {
  /** As the reports write it. */
  keyword: string;
  /** The newest loaded week of the site. */
  week: string;
  /** The loaded weeks among the last `READ_WEEKS`, in any order. */
  weeks: readonly KeywordWeek[];
}

/** How many weeks a look-up reads, up to the newest one. */
export const READ_WEEKS = 104;

/** The ranked weeks that a seasonality needs. */
const YEAR_WEEKS = 52;

/** Computes the figures of a search term. @param count the weeks of the histories, up to the newest loaded one. */
export function keywordFigures({ week: newest, weeks }: KeywordReports, count: number) {
  const byWeek = new Map(weeks.map((one) => [one.week, one]));
  const before = (ago: number) => addDays(newest, -7 * ago);
  const rankBefore = (ago: number) => byWeek.get(before(ago))?.rank ?? null;
  const sharesBefore = (ago: number) => sumsOf(byWeek.get(before(ago))?.clicked ?? []);
  const agos = Array.from({ length: count }, (_, i) => count - 1 - i);
  const history = agos.map((ago) => ({
    week: before(ago),
    rank: rankBefore(ago),
    isLoaded: byWeek.has(before(ago)),
  }));
  const ranked = history.flatMap(({ week, rank }) => (rank === null ? [] : [{ week, rank }]));
  const best = least(ranked, ({ rank }) => rank);
  const worst = greatest(ranked, ({ rank }) => rank);
  const current = rankBefore(0);
  return {
    rank: {
      current,
      best: best?.rank ?? null,
      worst: worst?.rank ?? null,
      change4: difference(rankBefore(4), current),
      change12: difference(rankBefore(12), current),
    },
    rankDates: { best: best?.week ?? null, worst: worst?.week ?? null },
    history,
    clicked: byWeek.get(newest)?.clicked ?? [],
    concentration: {
      ...sharesBefore(0),
      change12: difference(sharesBefore(0).clickShare, sharesBefore(12).clickShare),
      history: agos.map((ago) => ({ week: before(ago), ...sharesBefore(ago) })),
    },
    ...movesOf(history.map(({ week, rank }) => (rank === null ? null : (byWeek.get(week) ?? null)))),
    seasonality: seasonalityOf(weeks),
  };
}

function difference(from: number | null, less: number | null): number | null {
  return from === null || less === null ? null : rounded(from - less);
}

/** Returns the sums of the shares of the most clicked products; null if all are blank. */
function sumsOf(clicked: readonly Clicked[]) {
  return {
    clickShare: sumOf(clicked.map(({ clickShare }) => clickShare)),
    conversionShare: sumOf(clicked.map(({ conversionShare }) => conversionShare)),
  };
}

function sumOf(shares: readonly (number | null)[]): number | null {
  const known = shares.filter((share) => share !== null);
  return known.length === 0 ? null : rounded(known.reduce((sum, share) => sum + share, 0));
}

/**
 * Returns the products that came among the most clicked, and those that left, the newest first. Only two weeks in a row
 * in which the term was ranked say something. @param weeks the oldest first; null if the term was not ranked.
 */
function movesOf(
  weeks: readonly (KeywordWeek | null)[],
): Record<'entrants' | 'leavers', { asin: string; week: string }[]> {
  const entrants: { asin: string; week: string }[] = [];
  const leavers: { asin: string; week: string }[] = [];
  for (let i = weeks.length - 1; i > 0; i -= 1) {
    const [earlier, later] = [weeks[i - 1], weeks[i]];
    if (!earlier || !later) continue;
    const { week } = later;
    entrants.push(...without(later.clicked, earlier.clicked).map((asin) => ({ asin, week })));
    leavers.push(...without(earlier.clicked, later.clicked).map((asin) => ({ asin, week })));
  }
  return { entrants, leavers };
}

function without(these: readonly Clicked[], those: readonly Clicked[]): string[] {
  return these.map(({ asin }) => asin).filter((asin) => !those.some((other) => other.asin === asin));
}

/** Returns the usual rank of each calendar month; null without a year of ranked weeks. */
function seasonalityOf(weeks: readonly KeywordWeek[]) {
  const ranked = weeks.flatMap(({ week, rank }) =>
    rank === null ? [] : [{ month: Number(week.slice(5, 7)), rank }],
  );
  if (ranked.length < YEAR_WEEKS) return null;
  const usual = median(ranked, ({ rank }) => rank) ?? 0;
  const months = Array.from({ length: 12 }, (_, i) => {
    const ofMonth = ranked.filter(({ month }) => month === i + 1);
    const rank = median(ofMonth, (one) => one.rank) ?? null;
    return { month: i + 1, weeks: ofMonth.length, rank, index: rank === null ? null : ratio(usual, rank) };
  });
  return { weeks: ranked.length, months };
}

/** Returns the click shares of the brands of the most clicked products, the largest first. */
export function brandShares(
  clicked: readonly Clicked[],
  brandOf: (asin: string) => string | null,
): { brand: string | null; clickShare: number | null }[] {
  const brands = new Map<string | null, (number | null)[]>();
  for (const { asin, clickShare } of clicked) {
    const brand = brandOf(asin);
    brands.set(brand, [...(brands.get(brand) ?? []), clickShare]);
  }
  return [...brands]
    .map(([brand, shares]) => ({ brand, clickShare: sumOf(shares) }))
    .sort((a, b) => (b.clickShare ?? -1) - (a.clickShare ?? -1));
}
