import { stemmer } from 'stemmer';
import { addDays } from '../../platform/calendar.ts';

/** The sites that have brand analytics, by site code. */
export const REPORT_SITES = {
  us: { domain: 1, tld: 'com', marketplaceId: 'ATVPDKIKX0DER', region: 'na' },
  uk: { domain: 2, tld: 'co.uk', marketplaceId: 'A1F83G8C2ARO7P', region: 'eu' },
  de: { domain: 3, tld: 'de', marketplaceId: 'A1PA6795UKMFR9', region: 'eu' },
  fr: { domain: 4, tld: 'fr', marketplaceId: 'A13V1IB3VIYZZH', region: 'eu' },
  it: { domain: 8, tld: 'it', marketplaceId: 'APJ6JRA9NG5V4', region: 'eu' },
  jp: { domain: 5, tld: 'co.jp', marketplaceId: 'A1VC38T7YXB528', region: 'fe' },
  ca: { domain: 6, tld: 'ca', marketplaceId: 'A2EUQ1WTGCTBG2', region: 'na' },
  es: { domain: 9, tld: 'es', marketplaceId: 'A1RKKUPIHCS9HS', region: 'eu' },
  mx: { domain: 11, tld: 'com.mx', marketplaceId: 'A1AM78C64UM0Y8', region: 'na' },
} as const;

export type ReportSite = keyof typeof REPORT_SITES;

export const REPORT_SITE_CODES = Object.keys(REPORT_SITES) as [ReportSite, ...ReportSite[]];

/** Returns the site with this domain number. The database stores sites by domain number. */
export function siteOfDomain(domain: number): ReportSite | undefined {
  return REPORT_SITE_CODES.find((code) => REPORT_SITES[code].domain === domain);
}

/** Normalises a term for comparison: NFC, lower case, no control characters, single blanks. */
export function normaliseTerm(text: string): string {
  const plain = SIMPLE.test(text) ? text : text.replace(BLANKS, ' ').trim().normalize('NFC');
  return plain.toLowerCase();
}

/** Matches printable ASCII with single blanks, which nearly all terms are: they need no normalisation but lower case. */
const SIMPLE = /^[!-~]+(?: [!-~]+)*$/;

const BLANKS = /[\s\p{Cc}\p{Cs}]+/gu;

/** Returns whether a date is a Saturday. Weeks run from Sunday to Saturday; a week's date (YYYY-MM-DD) is its Saturday. */
export function isSaturday(date: string): boolean {
  return new Date(`${date}T00:00:00Z`).getUTCDay() === 6;
}

/** Returns the last Saturday that has ended in UTC. A week's report cannot exist before its Saturday has ended. */
export function lastEndedWeek(now: number): string {
  const today = new Date(now).toISOString().slice(0, 10);
  const daysSince = (new Date(now).getUTCDay() + 1) % 7 || 7;
  return addDays(today, -daysSince);
}

/** Returns the `count` dates closest to `to`, the closest first. */
export function nearestDates(dates: readonly string[], to: string, count: number): string[] {
  const distance = (date: string) => Math.abs(Date.parse(date) - Date.parse(to));
  return [...dates].sort((a, b) => distance(a) - distance(b)).slice(0, count);
}

/** The loaded reports that a call needs. */
export interface ReportsNeeded {
  /** null: all sites. */
  country: ReportSite | null;
  /** A week that must be loaded. */
  reportDate?: string | undefined;
  /** The parameter with this week, for messages. Default: reportDate. */
  parameter?: string;
  /** At least one week must be loaded. */
  needsWeek?: boolean;
  /** The filters of the call that need labels in this week, or else in the latest one. */
  labels?: readonly ('brand' | 'category')[];
}

/** How the rank of a term changed since the previous week. The database stores the position in this list, from 1. */
export const FLUCTUATIONS = ['new', 'rising', 'falling', 'stable'] as const;

export type Fluctuation = (typeof FLUCTUATIONS)[number];

/**
 * A term rises or falls when its rank changes by at least `minRate` of the earlier rank and by at least `minPlaces`.
 * A hundred places matter at rank 300 and not at rank 900,000, and a change from 3 to 4 is not a fall.
 */
export const CHANGE_LIMITS = { minRate: 0.05, minPlaces: 5 } as const;

/** Returns the fluctuation with this database number; null for 0, which means that the previous week is not loaded. */
export function fluctuationOf(number: number): Fluctuation | null {
  return FLUCTUATIONS[number - 1] ?? null;
}

/**
 * Returns the change from an earlier rank; positive is better. Returns null when the term was not ranked then (0) or
 * that week is not loaded (-1).
 */
export function changeOf(
  earlier: number,
  rank: number,
): { rank: number; change: number; rate: number } | null {
  if (earlier <= 0) return null;
  const change = earlier - rank;
  return { rank: earlier, change, rate: Math.round((change / earlier) * 10_000) / 10_000 };
}

/** Returns an SQL expression for the fluctuation's number, from expressions for the earlier and the current rank. */
export function fluctuationSql(earlier: string, rank: string): string {
  const { minRate, minPlaces } = CHANGE_LIMITS;
  // Integers only: a fraction would make PostgreSQL use slow decimal arithmetic for a million rows a week.
  const perTenThousand = Math.round(minRate * 10_000);
  const moved = (change: string) =>
    `${change} >= ${minPlaces} and ${change}::bigint * 10000 >= ${perTenThousand} * ${earlier}::bigint`;
  return `case when ${earlier} < 0 then 0 when ${earlier} = 0 then 1
    when ${moved(`(${earlier} - ${rank})`)} then 2 when ${moved(`(${rank} - ${earlier})`)} then 3 else 4 end`;
}

/** A term's id is a multiple of this plus the domain number of its site, so the id determines the site. */
export const WORD_ID_STEP = 16;

/** The database stores ids in four bytes, which allows 134 million terms for each site. */
export const LARGEST_WORD_ID = 2 ** 31 - 1;

/** Returns the site of a term from its id; undefined when no term can have this id. */
export function siteOfWord(wordId: number): ReportSite | undefined {
  return wordId > WORD_ID_STEP ? siteOfDomain(wordId % WORD_ID_STEP) : undefined;
}

/**
 * Returns the text in which a screen looks for the words of a term: its words and unbroken texts, each between blanks, then in
 * capitals the English stems that differ from their words. Terms have no capitals, so parts of words are never found in stems.
 */
export function wordingOf(term: string, site: ReportSite): string {
  const pieces = piecesOf(term);
  let words = ' ';
  let forms = '';
  for (const piece of pieces) {
    words += `${piece} `;
    const stem = stemOf(piece, site);
    if (stem !== piece) forms += `${inCapitals(stem)} `;
  }
  return words + forms;
}

/** Returns texts, one of which is in the wording of every term that has the word, or a word with the same English stem. */
export function formsOf(word: string, site: ReportSite): string[] {
  if (!ENGLISH_SITES.has(site)) return [` ${word} `];
  const stem = stemOf(word, site);
  const forms = [` ${inCapitals(stem)} `];
  // A word that is equal to the stem may have another stem itself.
  if (stemOf(stem, site) === stem) forms.push(` ${stem} `);
  return forms;
}

/** ASCII only, because other letters have no capitals that are theirs alone. */
function inCapitals(stem: string): string {
  return stem.replace(/[a-z]+/g, (letters) => letters.toUpperCase());
}

/** Sites whose words are reduced to their English stem, so that "shoes" finds "shoe". */
const ENGLISH_SITES: ReadonlySet<ReportSite> = new Set(['us', 'uk', 'ca']);

/** Scripts without blanks between words. Search finds any part of such text, down to one character. */
const UNBROKEN = '\\p{sc=Han}\\p{sc=Hiragana}\\p{sc=Katakana}\\p{sc=Thai}\\p{sc=Lao}\\p{sc=Khmer}ー々〆';
const PIECES = new RegExp(`[${UNBROKEN}]+|(?:(?![${UNBROKEN}])[\\p{L}\\p{N}\\p{M}])+`, 'gu');
const IS_UNBROKEN = new RegExp(`^[${UNBROKEN}]`, 'u');

/** Returns the search tokens of a term, as hashes: its words, and the characters and character pairs of unbroken text. */
export function tokensOf(term: string, site: ReportSite): number[] {
  const tokens = new Set<number>();
  for (const piece of piecesOf(term)) {
    if (!IS_UNBROKEN.test(piece)) {
      tokens.add(wordToken(piece, site));
      continue;
    }
    const characters = Array.from(piece);
    for (const character of characters) tokens.add(token('character', character));
    for (const pair of pairsOf(characters)) tokens.add(token('pair', pair));
  }
  return [...tokens];
}

/** A keyword, in parts that are searched in different ways. Both are empty if it has no letter or digit. */
interface KeywordPieces {
  words: string[];
  /** Text in scripts without blanks between words. */
  unbroken: string[];
}

export function piecesOfKeyword(keyword: string): KeywordPieces {
  const pieces = [...new Set(piecesOf(keyword))];
  return {
    words: pieces.filter((piece) => !IS_UNBROKEN.test(piece)),
    unbroken: pieces.filter((piece) => IS_UNBROKEN.test(piece)),
  };
}

/** Returns the tokens of all terms that contain a piece of unbroken text; other terms may have them as well. */
export function tokensOfUnbroken(piece: string): number[] {
  const characters = Array.from(piece);
  if (characters.length === 1) return [token('character', piece)];
  return pairsOf(characters).map((pair) => token('pair', pair));
}

/** Returns the words of a term. */
export function wordsOf(term: string): string[] {
  return piecesOf(term).filter((piece) => !IS_UNBROKEN.test(piece));
}

function piecesOf(text: string): readonly string[] {
  // Unicode script classes are slow, and most terms are ASCII.
  return text.match(ASCII.test(text) ? ASCII_WORDS : PIECES) ?? [];
}

const ASCII = /^[ -~]*$/;
const ASCII_WORDS = /[a-z0-9]+/g;

function pairsOf(characters: readonly string[]): string[] {
  return characters.slice(1).map((character, i) => `${characters[i]}${character}`);
}

/** Returns the English stem of a word on English sites; elsewhere the word. */
export function stemOf(word: string, site: ReportSite): string {
  if (!ENGLISH_SITES.has(site)) return word;
  const known = stems.get(word);
  if (known !== undefined) return known;
  const made = stemmer(word);
  if (stems.size >= MOST_REMEMBERED) stems.clear();
  stems.set(word, made);
  return made;
}

/** Caches the tokens and stems of words: most words of a report are the same few thousand. The size is limited. */
const remembered = { english: new Map<string, number>(), other: new Map<string, number>() };
const stems = new Map<string, string>();
const MOST_REMEMBERED = 50_000;

/** Returns the token of a word, which it shares with its English inflections on English sites. */
export function wordToken(word: string, site: ReportSite): number {
  const known = ENGLISH_SITES.has(site) ? remembered.english : remembered.other;
  const found = known.get(word);
  if (found !== undefined) return found;
  const made = token('word', stemOf(word, site));
  if (known.size >= MOST_REMEMBERED) known.clear();
  known.set(word, made);
  return made;
}

const SEEDS = { word: 1, character: 2, pair: 3 } as const;

/** FNV-1a with the sign bit set, because positive numbers are labels and other tags. */
function token(kind: keyof typeof SEEDS, text: string): number {
  let hash = 0x811c9dc5 ^ SEEDS[kind];
  for (let i = 0; i < text.length; i += 1) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193);
  // FNV mixes the high bits of short texts badly.
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash ^= hash >>> 13;
  return hash | 0x80000000;
}
