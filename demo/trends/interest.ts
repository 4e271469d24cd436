import { LRUCache } from 'lru-cache';
import { allLeaves, demandAt, type Leaf } from '../catalog/categories.ts';
import { fraction, hash } from '../catalog/random.ts';

const YEAR_SECONDS = 31_557_600;
const WEEK_SECONDS = 604_800;

const leavesByKeyword = new LRUCache<string, { leaf: Leaf | null }>({ max: 500 });

/** Returns the category that a keyword is about: the one with the longest word in it. */
export function leafAbout(keyword: string): Leaf | null {
  const text = keyword.toLowerCase();
  const known = leavesByKeyword.get(text);
  if (known) return known.leaf;
  let longest = '';
  let found: Leaf | null = null;
  for (const leaf of allLeaves()) {
    for (const word of leaf.words) {
      if (word.length <= longest.length || !` ${text} `.includes(` ${word} `)) continue;
      longest = word;
      found = leaf;
    }
  }
  leavesByKeyword.set(text, { leaf: found });
  return found;
}

/** Returns the search interest in a keyword at a time, 0 or more, on one scale for all keywords. */
export function interestAt(keyword: string, geo: string, unixSeconds: number): number {
  const word = keyword.toLowerCase();
  const level = 5 * 40 ** fraction('level', word) * (0.7 + 0.6 * fraction('level', word, geo));
  const years = unixSeconds / YEAR_SECONDS;
  const leaf = leafAbout(word);
  const season =
    leaf && leaf.season !== 'even'
      ? demandAt(leaf.season, years)
      : 1 +
        0.35 * fraction('swing', word) * Math.cos(2 * Math.PI * (years - (hash('phase', word) % 365) / 365));
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
