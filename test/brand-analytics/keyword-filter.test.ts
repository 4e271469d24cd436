import { beforeAll, expect, test } from 'vitest';
import { walkRanks } from '../../src/brand-analytics/rank-walk.ts';
import { searchTerms } from '../../src/brand-analytics/search.ts';
import { loadedWeeks } from '../../src/brand-analytics/weeks.ts';
import type { ReportSite } from '../../src/operations/brand-analytics/keywords.ts';
import { openTestDatabase } from '../support/database.ts';
import { csvReport, load, REPORTS, ranked } from '../support/reports.ts';

/** More words with the same part than are looked up one by one. */
const MANY = Array.from({ length: 1_100 }, (_, i) => `k${i}zing`);

const TERMS: Partial<Record<ReportSite, string[]>> = {
  us: [
    'desk lamp',
    'lampshade for lamps',
    'women’s t-shirts',
    'smart tv',
    'catv cable',
    '手机壳',
    '机壳 手机',
    ...MANY,
  ],
  de: ['schreibtischlampe', 'kleine lampe', 'haus am see', 'größere töpfe'],
  fr: ['chaussures de course'],
  it: ['scarpa rossa'],
  es: ['zapato rojo'],
  mx: ['juguetes para niños'],
  jp: ['猫砂 大容量', 'iphone ケース', '黒いケース iphone15 pro'],
};

const database = await openTestDatabase();
beforeAll(async () => {
  for (const [site, terms] of Object.entries(TERMS))
    await load(database, site as ReportSite, csvReport('2026-03-07', ranked(...terms)));
});

async function found(site: ReportSite, keyword: string): Promise<string[]> {
  const [week] = await loadedWeeks(database, REPORTS, site);
  if (!week) throw new Error(`no week of ${site} is loaded`);
  const rows = await walkRanks(database, week, {
    filter: { keyword },
    after: 0,
    to: week.lastRank,
    count: 2_000,
  });
  return rows.map(({ term }) => term);
}

test.for<[ReportSite, string, string[]]>([
  ['us', 'lam', ['desk lamp', 'lampshade for lamps']],
  ['us', 'ampsha', ['lampshade for lamps']],
  ['us', 'lam esk', ['desk lamp']],
  ['us', 'desks', ['desk lamp']],
  ['us', 'shirt', ['women’s t-shirts']],
  ['us', 'LAMP', ['desk lamp', 'lampshade for lamps']],
  ['us', 'lam%', ['desk lamp', 'lampshade for lamps']],
  ['us', 'la_p', []],
  ['us', '?!', []],
  // Two letters match whole words only.
  ['us', 'tv', ['smart tv']],
  ['us', 'la', []],
  ['us', '手机壳', ['手机壳']],
  ['us', '壳', ['手机壳', '机壳 手机']],
  ['us', 'zing', MANY],
  ['us', 'k1099z zing', ['k1099zing']],
  ['de', 'lampe', ['schreibtischlampe', 'kleine lampe']],
  ['de', 'lampen', ['kleine lampe']],
  ['de', 'häuser', ['haus am see']],
  ['de', 'rößer', ['größere töpfe']],
  ['de', 'topf', ['größere töpfe']],
  ['fr', 'chaussure', ['chaussures de course']],
  ['it', 'scarpe', ['scarpa rossa']],
  ['es', 'zapatos rojos', ['zapato rojo']],
  ['mx', 'juguete niño', ['juguetes para niños']],
  ['jp', '大容', ['猫砂 大容量']],
  ['jp', '砂猫', []],
  ['jp', 'phone ケース', ['iphone ケース', '黒いケース iphone15 pro']],
])('a keyword of %s, "%s", finds %j', async ([site, keyword, expected]) => {
  expect(await found(site, keyword)).toEqual(expected);
});

test('a search finds whole words in all their forms, and no parts', async () => {
  const search = async (site: ReportSite, keyword: string) => {
    const weeks = await loadedWeeks(database, REPORTS, site);
    const terms = await searchTerms(database, site, weeks, { keyword, limit: 10 });
    return terms.map((term) => term.keyword);
  };
  expect(await search('de', 'lampen')).toEqual(['kleine lampe']);
  expect(await search('us', 'lamp')).toEqual(['lampshade for lamps', 'desk lamp']);
  expect(await search('us', 'amp')).toEqual([]);
});
