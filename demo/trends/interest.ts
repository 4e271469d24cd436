import { fraction, hash } from '../catalog/random.ts';

const YEAR_SECONDS = 31_557_600;
const WEEK_SECONDS = 604_800;

/** Returns the search interest in a keyword at a time, 0 or more, on one scale for all keywords. */
export function interestAt(keyword: string, geo: string, unixSeconds: number): number {
  const word = keyword.toLowerCase();
  const level = 5 * 40 ** fraction('level', word) * (0.7 + 0.6 * fraction('level', word, geo));
  const swing = 0.35 * fraction('swing', word);
  const phase = (hash('phase', word) % 365) / 365;
  const season = 1 + swing * Math.sin(2 * Math.PI * (unixSeconds / YEAR_SECONDS + phase));
  const growth = 1.08 ** (((fraction('growth', word) - 0.4) * (unixSeconds - 1_600_000_000)) / YEAR_SECONDS);
  const week = Math.floor(unixSeconds / WEEK_SECONDS);
  const surge = fraction('surge', word, week) < 0.02 ? 1.8 : 1;
  const noise = 0.92 + 0.16 * fraction('noise', word, geo, unixSeconds);
  return level * season * growth * surge * noise;
}

/** Returns the search interest in a keyword in a region, relative to other regions. */
export function regionalInterest(keyword: string, region: string): number {
  return 10 + 90 * fraction('regional', keyword.toLowerCase(), region);
}
