import { stemmer } from 'stemmer';
import type { ReportSite } from './sites.ts';

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

export interface KeywordQuery {
  /** Matching terms have all these tokens. Empty when the keyword has no letter or digit, which matches no term. */
  tokens: number[];
  /** Confirms a candidate: tokens are hashes and may collide, and pairs may come from different parts of the text. */
  matches(term: string): boolean;
}

/** Matches terms that have all words of the keyword, in any order, and all its unbroken text unchanged. */
export function keywordQuery(keyword: string, site: ReportSite): KeywordQuery {
  const tokens = new Set<number>();
  const words: string[] = [];
  const parts: string[] = [];
  for (const piece of piecesOf(keyword)) {
    if (!IS_UNBROKEN.test(piece)) {
      words.push(stemOf(piece, site));
      tokens.add(wordToken(piece, site));
      continue;
    }
    parts.push(piece);
    const characters = Array.from(piece);
    if (characters.length === 1) tokens.add(token('character', piece));
    else for (const pair of pairsOf(characters)) tokens.add(token('pair', pair));
  }
  return {
    tokens: [...tokens],
    matches(term) {
      if (!parts.every((part) => term.includes(part))) return false;
      if (words.length === 0) return true;
      const found = new Set(piecesOf(term).map((piece) => stemOf(piece, site)));
      return words.every((word) => found.has(word));
    },
  };
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

function stemOf(word: string, site: ReportSite): string {
  return ENGLISH_SITES.has(site) ? stemmer(word) : word;
}

/** Caches the tokens of words: most words of a report are the same few thousand. The size is limited. */
const remembered = { english: new Map<string, number>(), other: new Map<string, number>() };
const MOST_REMEMBERED = 50_000;

function wordToken(word: string, site: ReportSite): number {
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
