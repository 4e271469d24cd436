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

/** A keyword, in parts that are searched in different ways. Both are empty if it has no letter or digit. */
export interface KeywordPieces {
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
  return ENGLISH_SITES.has(site) ? stemmer(word) : word;
}

/** Caches the tokens of words: most words of a report are the same few thousand. The size is limited. */
const remembered = { english: new Map<string, number>(), other: new Map<string, number>() };
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
