import { ratio } from './figures.ts';
import { currentOf, extremeOf, isoTime, meanOf, type Series, shownIn } from './series.ts';

const DAY_MINUTES = 1_440;

/** Returns the figures of a series, and the dates of those that have one of their own. @param now index minutes. */
export function historyFigures(series: Series, now: number) {
  const mean = (days: number) => meanOf(series, now - days * DAY_MINUTES, now);
  const shown = (value: number | null) => shownIn(series.unit, value);
  const [current, average90] = [currentOf(series), mean(90)];
  const [lowest, highest] = [extremeOf(series, 'lowest'), extremeOf(series, 'highest')];
  return {
    values: {
      current: shown(current),
      average30: shown(mean(30)),
      average90: shown(average90),
      average365: shown(mean(365)),
      lowest: shown(lowest?.value ?? null),
      highest: shown(highest?.value ?? null),
      drop: dropOf(current, average90),
    },
    dates: { lowest: lowest && isoTime(lowest.at), highest: highest && isoTime(highest.at) },
  };
}

/** Returns by how many percent a value is below an average. */
function dropOf(current: number | null, average: number | null): number | null {
  if (current === null || average === null || average === 0) return null;
  return ratio(100 * (average - current), average);
}
