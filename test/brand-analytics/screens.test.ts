import { existsSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import Papa from 'papaparse';
import { stemmer } from 'stemmer';
import { describe, expect, test } from 'vitest';
import { dropWeek } from '../../src/brand-analytics/import/publish.ts';
import { renewStaleScreen } from '../../src/brand-analytics/import/screen-table.ts';
import { screen } from '../../src/operations/research/screen.ts';
import type { HandlerContext } from '../../workers/handlers/handler.ts';
import { handleScreen } from '../../workers/handlers/research/screen.ts';
import { openTestDatabase } from '../support/database.ts';
import { csvReport, load, REPORTS, type TestTerm } from '../support/reports.ts';

/*
 * Compares screens with a model that shares no code with them: it keeps the rows of the imported files, and filters, sorts and
 * counts them in plain code.
 */

const database = await openTestDatabase();
const SEED = 20_261_128;
const random = mulberry(SEED);
const chance = (share: number) => random() < share;
const below = (count: number) => Math.floor(random() * count);
const oneOf = <T>(list: readonly T[]): T => list[below(list.length)] as T;

/** Numbers from 0 to 1, always the same ones after a seed. */
function mulberry(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296;
  };
}

type Site = 'uk' | 'de' | 'jp' | 'ca';

const WORDS: Record<Site, string[]> = {
  uk: (
    "lampshade desks desk lamp lamps women womens women's shoe shoes shoed running run runner file filing files t-shirt tv usb " +
    'agreed agree 2024 4k kids men universities univers café 手机壳 壳 o’brien garden gardening xx_yy 100% ability'
  ).split(' '),
  de: 'lampe lampen schreibtischlampe haus häuser am see größere töpfe topf für kinder kind grün tv 手机 straße'.split(
    ' ',
  ),
  jp: '猫砂 大容量 犬ベッド 猫 砂 iphone ケース 黒いケース iphone15 pro タワー usb'.split(' '),
  ca: [],
};
const BRANDS = ['Lumio', 'LUMIO', 'Acme', 'Größe & Co', ''];

interface Row {
  keyword: string;
  rank: number;
  clickShare: number | null;
  conversionShare: number | null;
  brands: string[];
  asins: string[];
}

/** The loaded weeks of each site, and the first week of each term that was ever imported. */
const model: Record<Site, { weeks: Map<string, Row[]>; firstSeen: Map<string, string> }> = {
  uk: { weeks: new Map(), firstSeen: new Map() },
  de: { weeks: new Map(), firstSeen: new Map() },
  jp: { weeks: new Map(), firstSeen: new Map() },
  ca: { weeks: new Map(), firstSeen: new Map() },
};

const later = (week: string, days: number) =>
  new Date(Date.parse(week) + days * 86_400_000).toISOString().slice(0, 10);

/** The hundredths of the shares in a file, which have at most two decimals. */
function sumOf(shares: readonly string[]): number | null {
  const given = shares.filter((share) => share !== '');
  if (given.length === 0) return null;
  return given.reduce((sum, share) => sum + Math.round(Number.parseFloat(share) * 100), 0) / 100;
}

function rowOf({ term, rank, brands = [], products = [] }: TestTerm): Row {
  return {
    keyword: term.trim().replaceAll(/\s+/g, ' ').toLowerCase(),
    rank,
    clickShare: sumOf(products.map(([, , click]) => click)),
    conversionShare: sumOf(products.map(([, , , conversion]) => conversion)),
    brands: brands.map((brand) => brand.toLowerCase()),
    asins: products.map(([asin]) => asin),
  };
}

function remember(site: Site, week: string, rows: Row[]): void {
  const { weeks, firstSeen } = model[site];
  weeks.set(week, rows);
  for (const { keyword } of rows) {
    const before = firstSeen.get(keyword);
    if (before === undefined || week < before) firstSeen.set(keyword, week);
  }
}

function generated(site: Site): TestTerm[] {
  const terms = new Map<string, TestTerm>();
  let rank = 1;
  for (let i = 0; i < 120; i += 1) {
    const term = Array.from({ length: 1 + below(3) }, () => oneOf(WORDS[site])).join(' ');
    const share = () => (chance(0.2) ? '' : (random() * 33).toFixed(below(3)));
    const products = Array.from({ length: below(4) }, (_, at): [string, string, string, string] => [
      `B0${String(below(900_000) + 100_000)}0${at}`,
      chance(0.5) ? `Title ${i}` : '',
      share(),
      chance(0.3) ? '' : share(),
    ]);
    if (terms.has(term)) continue;
    terms.set(term, { term, rank, brands: [oneOf(BRANDS), oneOf(BRANDS)], products });
    // Some terms share a rank.
    rank += chance(0.1) ? 0 : 1 + below(4);
  }
  return [...terms.values()];
}

const UNBROKEN = /[\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}ー]/u;

/** Splits a text where letters, digits and marks end, and where a script without blanks begins or ends. */
function piecesOf(text: string): { words: string[]; unbroken: string[] } {
  const pieces = { words: [] as string[], unbroken: [] as string[] };
  let last: 'words' | 'unbroken' | null = null;
  for (const character of text) {
    const kind = UNBROKEN.test(character)
      ? 'unbroken'
      : /[\p{L}\p{N}\p{M}]/u.test(character)
        ? 'words'
        : null;
    if (kind && kind === last) pieces[kind][pieces[kind].length - 1] += character;
    else if (kind) pieces[kind].push(character);
    last = kind;
  }
  return pieces;
}

const germanStems = new Map<string, string>();

/** The stems of German words are those of PostgreSQL's dictionary. */
async function learnGerman(texts: readonly string[]): Promise<void> {
  for (const word of texts.flatMap((text) => piecesOf(text.toLowerCase()).words)) {
    if (germanStems.has(word)) continue;
    const { rows } = await database.query("select (ts_lexize('german_stem', $1))[1] as stem", [word]);
    germanStems.set(word, rows[0].stem ?? word);
  }
}

function stemOf(site: Site, word: string): string {
  if (site === 'de') return germanStems.get(word) ?? word;
  return site === 'jp' ? word : stemmer(word);
}

function hasItem(site: Site, keyword: string, item: string, inside: boolean): boolean {
  const own = piecesOf(keyword).words;
  const { words, unbroken } = piecesOf(item);
  return (
    unbroken.every((text) => keyword.includes(text)) &&
    words.every((word) =>
      own.some(
        (other) =>
          stemOf(site, other) === stemOf(site, word) || (inside && word.length >= 3 && other.includes(word)),
      ),
    )
  );
}

interface Asked {
  country: Site;
  week: string;
  sort: string;
  limit: number;
  [name: string]: unknown;
}

type Expected = Omit<Row, 'brands' | 'asins'> & {
  change4: number | null;
  change12: number | null;
  firstSeen: string;
  asins: string[];
};

function expectedOf(asked: Asked): Expected[] {
  const { country: site, week } = asked;
  const { weeks, firstSeen } = model[site];
  const rankIn = (days: number) =>
    new Map(weeks.get(later(week, -days))?.map(({ keyword, rank }) => [keyword, rank]));
  const [four, twelve] = [rankIn(28), rankIn(84)];
  const changeOf = ({ keyword, rank }: Row, before: Map<string, number>) => {
    const earlier = before.get(keyword);
    return earlier === undefined ? null : earlier - rank;
  };
  const rows = (weeks.get(week) ?? [])
    .filter(({ keyword, brands }) => {
      const [words, not] = [asked.words, asked.notWords] as (string[] | undefined)[];
      const brand = asked.brand as string | undefined;
      if (brand !== undefined && !brands.includes(brand.toLowerCase())) return false;
      if (words && !words.every((item) => hasItem(site, keyword, item.toLowerCase(), true))) return false;
      return !not?.some((item) => hasItem(site, keyword, item.toLowerCase(), false));
    })
    .map(({ brands: _, ...row }) => ({
      ...row,
      change4: changeOf({ ...row, brands: [] }, four),
      change12: changeOf({ ...row, brands: [] }, twelve),
      firstSeen: firstSeen.get(row.keyword) ?? '',
    }))
    .filter((row) => {
      for (const name of ['rank', 'change4', 'change12', 'clickShare', 'conversionShare'] as const) {
        const wanted = asked[name] as { min?: number; max?: number } | undefined;
        const value = row[name];
        if (!wanted) continue;
        if (value === null || value < (wanted.min ?? -1e12) || value > (wanted.max ?? 1e12)) return false;
      }
      return asked.newSince === undefined || row.firstSeen >= (asked.newSince as string);
    });
  const direction = asked.sort.startsWith('-') ? -1 : 1;
  const key = asked.sort.replace('-', '') as keyof Expected;
  return rows.sort((a, b) => {
    const [x, y] = [a[key], b[key]];
    if (x !== y && (x === null || y === null)) return x === null ? 1 : -1;
    if (x !== y) return (x as number) < (y as number) ? -direction : direction;
    return a.rank - b.rank;
  });
}

function randomScreen(site: Site, week: string): Asked {
  const asked: Asked = {
    country: site,
    week,
    sort:
      (chance(0.5) ? '-' : '') +
      oneOf(['rank', 'change4', 'change12', 'clickShare', 'conversionShare', 'firstSeen']),
    limit: oneOf([7, 40, 1000]),
  };
  const between = (least: number, most: number, decimals = 0) => {
    const end = () => Number((least + random() * (most - least)).toFixed(decimals));
    const [a, b] = [end(), end()];
    const both = { min: Math.min(a, b), max: Math.max(a, b) };
    return chance(0.4) ? { min: both.min } : chance(0.4) ? { max: both.max } : both;
  };
  const item = () => {
    const word = oneOf(WORDS[site]);
    if (chance(0.3)) return word.slice(0, 1 + below(4));
    return chance(0.2) ? `${word} ${oneOf(WORDS[site])}` : chance(0.1) ? word.toUpperCase() : word;
  };
  const items = () =>
    [...new Set(Array.from({ length: 1 + below(2) }, item))].filter((text) => {
      const { words, unbroken } = piecesOf(text);
      return words.length + unbroken.length > 0;
    });
  if (chance(0.3)) asked.rank = between(1, 200);
  if (chance(0.25)) asked.change4 = between(-150, 150);
  if (chance(0.25)) asked.change12 = between(-150, 150);
  if (chance(0.25)) asked.clickShare = between(0, 100, below(4));
  if (chance(0.25)) asked.conversionShare = between(0, 80, below(4));
  const [words, notWords] = [items(), items()];
  if (chance(0.4) && words.length > 0) asked.words = words;
  if (chance(0.3) && notWords.length > 0) asked.notWords = notWords;
  if (chance(0.2)) asked.brand = oneOf(['lumio', 'ACME', 'größe & co', 'unknown']);
  if (chance(0.3)) asked.newSince = later(week, -below(100));
  return asked;
}

interface Page {
  rows: (Expected & { wordId: number; top: { asin: string }[] })[];
  total: number;
  nextCursor: string | null;
}

const context = {
  sources: [{ key: '', identity: '' }],
  useEdition: () => {},
  signal: new AbortController().signal,
  upstream: { reports: { database, provider: REPORTS, products: REPORTS } },
} as unknown as HandlerContext;

async function ask(asked: Record<string, unknown>): Promise<Page> {
  const found = await handleScreen(screen.params.parse(asked), context);
  return found.get('') as unknown as Page;
}

async function compare(asked: Asked): Promise<void> {
  await learnGerman([asked.words, asked.notWords].flatMap((items) => (items as string[] | undefined) ?? []));
  const expected = expectedOf(asked);
  const rows: Page['rows'] = [];
  let cursor: string | null = null;
  do {
    const page = await ask({ ...asked, ...(cursor && { cursor }) });
    expect({ asked, total: page.total }).toEqual({ asked, total: expected.length });
    expect(page.rows.length).toBeLessThanOrEqual(asked.limit);
    rows.push(...page.rows);
    cursor = page.nextCursor;
    if (cursor) expect(page.rows).toHaveLength(asked.limit);
  } while (cursor);
  const key = asked.sort.replace('-', '') as keyof Expected;
  const placed = (row: Expected) => [row[key], row.rank];
  expect({ asked, order: rows.map(placed) }).toEqual({ asked, order: expected.map(placed) });
  const shown = rows.map(({ wordId: _, top, ...row }) => ({ ...row, asins: top.map(({ asin }) => asin) }));
  const byKeyword = (list: Expected[]) => list.sort((a, b) => (a.keyword < b.keyword ? -1 : 1));
  expect({ asked, rows: byKeyword(shown) }).toEqual({ asked, rows: byKeyword([...expected]) });
}

const BASE = '2026-03-07';
const OFFSETS = [-84, -56, -28, -7, 0, 28];

describe(`a thousand random screens (seed ${SEED})`, () => {
  test.for(['uk', 'de', 'jp'] as const)(
    'have the rows and totals of the files of %s, in any order of imports, after weeks are replaced and deleted',
    { timeout: 120_000 },
    async (site) => {
      await learnGerman(WORDS.de);
      const { weeks } = model[site];
      for (let step = 0; step < 11; step += 1) {
        // The first weeks come in any order; then weeks are replaced, deleted and renewed.
        const week = later(
          BASE,
          step < OFFSETS.length ? (OFFSETS[(step * 5 + 3) % 6] as number) : oneOf(OFFSETS),
        );
        if (step === 7 && weeks.has(week)) {
          await dropWeek(database, site, week);
          weeks.delete(week);
        } else if (step === 9) {
          while (await renewStaleScreen(database));
        } else {
          const terms = generated(site);
          await load(database, site, csvReport(week, terms));
          remember(site, week, terms.map(rowOf));
        }
        for (let i = 0; i < 31; i += 1) await compare(randomScreen(site, oneOf([...weeks.keys()])));
      }
    },
  );
});

const FIXTURES = resolve('../shared/fixtures/brand-analytics');

describe.skipIf(!existsSync(FIXTURES))('real rows (where ../shared/fixtures/brand-analytics exists)', () => {
  test('have the rows and totals of the file', async () => {
    const week = '2026-04-11';
    const text = readFileSync(join(FIXTURES, 'top-search-terms-us-week-2026-04-11.csv'), 'utf8');
    await load(database, 'ca', text);
    const { data } = Papa.parse<string[]>(text.slice(text.indexOf('\n') + 1).replaceAll('\r', ''), {
      delimiter: ',',
      skipEmptyLines: true,
    });
    const rows = data.slice(1).map((cells) => {
      const products = [8, 12, 16].map((at) => cells.slice(at, at + 4)) as [string, string, string, string][];
      return rowOf({
        term: cells[1] ?? '',
        rank: Number(cells[0]),
        brands: cells.slice(2, 5),
        products: products.filter(([asin]) => asin !== ''),
      });
    });
    remember('ca', week, rows);
    WORDS.ca = [...new Set(rows.flatMap(({ keyword }) => keyword.split(' ')))];
    for (let i = 0; i < 60; i += 1) await compare(randomScreen('ca', week));
  });
});

describe('the first weeks of terms', () => {
  const isStale = async (week: string) => {
    const { rows } = await database.query(
      'select screen_is_stale as stale from aba_weeks where site = 8 and week = $1',
      [week],
    );
    return rows[0].stale as boolean;
  };
  const newSince = async (week: string, date: string) => {
    const { rows } = await ask({ country: 'it', week, newSince: date, sort: '-firstSeen' });
    return rows.map(({ keyword, firstSeen }) => [keyword, firstSeen]);
  };
  const loadTerms = (week: string, ...terms: string[]) =>
    load(
      database,
      'it',
      csvReport(
        week,
        terms.map((term, i) => ({ term, rank: i + 1 })),
      ),
    );

  test('are right in later weeks after an older week was imported, before and after their tables are renewed', async () => {
    const [oldest, before, week] = ['2026-01-03', '2026-02-21', '2026-03-07'];
    await loadTerms(week, 'vecchio', 'nuovo');
    await loadTerms(before, 'altro');
    expect(await isStale(week)).toBe(false);
    expect(await newSince(week, week)).toHaveLength(2);

    const result = await loadTerms(oldest, 'vecchio');
    // Nothing is compared with a week that is nine weeks older.
    expect(result.recomputed).toEqual([]);
    expect([await isStale(week), await isStale(oldest)]).toEqual([true, false]);
    const right = [['nuovo', week]];
    expect(await newSince(week, week)).toEqual(right);
    expect(await newSince(week, oldest)).toEqual([...right, ['vecchio', oldest]]);

    while (await renewStaleScreen(database));
    expect([await isStale(before), await isStale(week)]).toEqual([false, false]);
    expect(await newSince(week, week)).toEqual(right);
    expect(await newSince(week, oldest)).toEqual([...right, ['vecchio', oldest]]);
  });

  test('and changes since twelve weeks are right in the week that is compared with an older one', async () => {
    const [older, week] = ['2026-03-28', '2026-06-20'];
    await loadTerms(week, 'uno', 'due', 'tre');
    const changes = async () => {
      const { rows } = await ask({ country: 'it', week });
      return rows.map(({ change12 }) => change12);
    };
    expect(await changes()).toEqual([null, null, null]);
    expect((await loadTerms(older, 'tre', 'due')).recomputed).toEqual([week]);
    expect(await isStale(week)).toBe(false);
    expect(await changes()).toEqual([null, 0, -2]);
    expect(await newSince(week, week)).toEqual([['uno', week]]);
    await dropWeek(database, 'it', older);
    expect(await changes()).toEqual([null, null, null]);
    expect((await ask({ country: 'it', week, change12: { min: -5 } })).total).toBe(0);
  });
});
