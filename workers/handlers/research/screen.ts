import { asinOfNumber } from '../../../src/brand-analytics/asin-number.ts';
import { learnedBrands } from '../../../src/brand-analytics/product-labels.ts';
import { titlesByAsin } from '../../../src/brand-analytics/rank-row.ts';
import { type ScreenedTerm, screenWeek } from '../../../src/brand-analytics/screen.ts';
import { FIRST_CHANGE_DAYS, SECOND_CHANGE_DAYS } from '../../../src/brand-analytics/screen-columns.ts';
import type { Figures } from '../../../src/operations/research/figures.ts';
import { type ScreenInput, screen, weekOfScreen } from '../../../src/operations/research/screen.ts';
import { cursorOf, positionOf } from '../../../src/operations/research/screen-cursor.ts';
import { addDays } from '../../../src/platform/calendar.ts';
import { fromReports, type Reports, weekIsGone } from '../reports.ts';

export const handleScreen = fromReports(screen, async (input: ScreenInput, reports) => {
  const { country, sort, limit, cursor, ...filter } = input;
  const { database, weeks } = reports;
  const wanted = weekOfScreen(input).week;
  const week = wanted === undefined ? weeks[0] : weeks.find((one) => one.week === wanted);
  if (!week) throw weekIsGone(country, wanted);
  const before = {
    change4: addDays(week.week, -FIRST_CHANGE_DAYS),
    change12: addDays(week.week, -SECOND_CHANGE_DAYS),
  };
  const isLoaded = (date: string) => weeks.some((one) => one.week === date);
  const compared = { change4: isLoaded(before.change4), change12: isLoaded(before.change12) };
  const after = cursor === undefined ? null : positionOf(cursor);
  const { terms, total, last } = await screenWeek(database, week, { filter, sort, limit, after, compared });
  const { rows, brandsLearned } = await described(reports, input, terms);
  return {
    country,
    week: week.week,
    rows,
    total,
    nextCursor: last ? cursorOf(last) : null,
    figures: screenFigures(week.week, before, compared, brandsLearned),
  };
});

const percent = (hundredths: number | null) => (hundredths === null ? null : hundredths / 100);

/** Returns the rows that customers see, and when the oldest of the brands was learned. */
async function described(
  { database, brandsFrom }: Reports,
  { country: site }: ScreenInput,
  terms: readonly ScreenedTerm[],
): Promise<{ rows: object[]; brandsLearned: Date | null }> {
  const productsOf = ({ asin1, asin2, asin3 }: ScreenedTerm) =>
    [asin1, asin2, asin3].filter((asin) => asin > 0);
  const numbers = [...new Set(terms.flatMap(productsOf))];
  const [titles, brands] = await Promise.all([
    titlesByAsin(database, site, numbers.map(asinOfNumber)),
    brandsFrom === null ? null : learnedBrands(database, { site, provider: brandsFrom }, numbers),
  ]);
  const rows = terms.map((one) => ({
    wordId: one.id,
    keyword: one.term,
    rank: one.rank,
    change4: one.change4,
    change12: one.change12,
    clickShare: percent(one.clicks),
    conversionShare: percent(one.conversions),
    top: productsOf(one).map((number) => {
      const asin = asinOfNumber(number);
      return { asin, brand: brands?.get(number)?.brand ?? null, title: titles[asin] ?? null };
    }),
    firstSeen: one.firstSeen,
  }));
  const learned = [...(brands?.values() ?? [])].map(({ learnedAt }) => learnedAt);
  const [oldest = null] = learned.sort((a, b) => a.getTime() - b.getTime());
  return { rows, brandsLearned: oldest };
}

function screenFigures(
  week: string,
  before: { change4: string; change12: string },
  compared: { change4: boolean; change12: boolean },
  brandsLearned: Date | null,
): Figures {
  const report = (formula: string) => ({ source: 'reports', date: week, formula });
  const change = (name: 'change4' | 'change12') =>
    report(
      compared[name]
        ? `rank in the week of ${before[name]} - rank; null if the term was not ranked in it`
        : `null, because the week of ${before[name]} is not loaded`,
    );
  return {
    rank: report('search frequency rank of the report'),
    change4: change('change4'),
    change12: change('change12'),
    clickShare: report('sum of the click shares of the three most-clicked products; blank shares count as 0'),
    conversionShare: report(
      'sum of the conversion shares of the three most-clicked products; blank shares count as 0',
    ),
    firstSeen: report('the oldest week imported so far with the term'),
    total: report('number of terms of the week that match'),
    'top.asin': report('the three most-clicked products'),
    'top.title': { source: 'reports', date: null, formula: 'title in the newest report that had one' },
    'top.brand': {
      source: 'products',
      date: brandsLearned?.toISOString().slice(0, 10) ?? null,
      formula:
        'brand when the product was last looked up in this service; the date is that of the oldest of them',
    },
  };
}
