import type { Season } from './categories.ts';

/** The share of the year at which a season's demand is highest, and how much it swings. */
const SEASONS: Record<Season, { peak: number; swing: number }> = {
  even: { peak: 0, swing: 0 },
  summer: { peak: 0.52, swing: 0.5 },
  winter: { peak: 0.02, swing: 0.35 },
  gifts: { peak: 0.94, swing: 0.45 },
};

/** Returns the demand, around 1. @param years since the beginning of a year. */
export function demandAt(season: Season, years: number): number {
  const { peak, swing } = SEASONS[season];
  return 1 + swing * Math.cos(2 * Math.PI * (years - peak));
}
