import { allLeaves, LEAF_COUNT } from '../catalog/categories.ts';
import { hash } from '../catalog/random.ts';
import { wordsOf } from '../words.ts';

/** The parts of a site's search terms. */
interface Vocabulary {
  nouns: readonly Noun[];
  /** Number of words before and after each noun. */
  before: number;
  after: number;
  /** Words at the end of longer terms. */
  tails: readonly string[];
}

interface Noun {
  text: string;
  leaf: number;
  before: readonly string[];
  after: readonly string[];
}

/** Number of words before an English noun, and of words after it. */
const WORDS = 9;

const TAILS = wordsOf('en tails');
const TEXTS = new Set(allLeaves().flatMap(({ words }) => words));

/** Returns a noun with the words that fit it. A word fits if the term does not have it yet, and if it does not make another noun. */
function nounOf(text: string, leaf: number, before: readonly string[], after: readonly string[]): Noun {
  const fits = (word: string, others: readonly string[]) =>
    !TEXTS.has(`${word} ${text}`) &&
    !TEXTS.has(`${text} ${word}`) &&
    !others.some((other) => overlap(word, other));
  const first = before.filter((word) => fits(word, [text, ...TAILS])).slice(0, WORDS);
  const last = after.filter((word) => fits(word, [text, ...TAILS, ...first])).slice(0, WORDS);
  return { text, leaf, before: first, after: last };
}

/** Returns whether two texts have a word in common, in the singular or plural. */
export function overlap(one: string, other: string): boolean {
  const words = new Set(stemsOf(one));
  return stemsOf(other).some((word) => words.has(word));
}

function stemsOf(text: string): string[] {
  return text.split(/[\s-]+/).map((word) => word.replace(/(?<=..)s$/, ''));
}

const english = allLeaves().flatMap(({ words, before, after }, leaf) =>
  words.map((text) => nounOf(text, leaf, before, after)),
);

/** Returns the English nouns with the words of another language. */
function european(site: string): Noun[] {
  return english.map(({ text, leaf }) =>
    nounOf(text, leaf, wordsOf(`${site} before`), wordsOf(`${site} after`)),
  );
}

/** Nouns of another script have the same words each. */
function withSome(site: string, before: readonly string[], after: readonly string[]): Noun[] {
  return wordsOf(`${site} nouns`).map((text, i) => ({ text, leaf: (i * 7) % LEAF_COUNT, before, after }));
}

function vocabularyOf(nouns: readonly Noun[], tails: readonly string[] = []): Vocabulary {
  return { nouns, before: nouns[0]?.before.length ?? 0, after: nouns[0]?.after.length ?? 0, tails };
}

const VOCABULARIES: Record<string, Vocabulary> = {
  us: vocabularyOf([...english, ...withSome('us', english[0]?.before ?? [], english[0]?.after ?? [])], TAILS),
  jp: vocabularyOf(withSome('jp', wordsOf('jp before'), wordsOf('jp after')), wordsOf('jp tails')),
};
for (const site of ['uk', 'ca']) VOCABULARIES[site] = vocabularyOf(english, TAILS);
for (const site of ['de', 'fr', 'it', 'es', 'mx']) VOCABULARIES[site] = vocabularyOf(european(site));

/** A prime, so that its multiples reach every noun. */
const STEP = 1_000_003;

/**
 * Returns the `n`th search term of a site, always the same, and the leaf of its products. People search most for nouns
 * alone, then with one word, then with two; longer terms come last. After all combinations, terms get a number.
 */
export function termAt(site: string, n: number): { term: string; leaf: number } {
  const { nouns, before, after, tails } = VOCABULARIES[site] ?? vocabularyOf(english, TAILS);
  // Consecutive terms have different subjects, in another order on each site.
  const index = ((n + (hash('site', site) % nouns.length)) * STEP) % nouns.length;
  const noun = nouns[index];
  const short = 1 + before + after + before * after;
  const round = Math.floor(n / nouns.length);
  const [first, last, tail] = wordsAt(round % (short * (1 + tails.length)));
  const repeats = Math.floor(round / (short * (1 + tails.length)));
  const words = [
    noun?.before[first],
    noun?.text,
    noun?.after[last],
    tails[tail],
    repeats > 0 ? String(repeats + 1) : '',
  ];
  return { term: words.filter(Boolean).join(' '), leaf: noun?.leaf ?? 0 };

  /** Returns the positions of the words before, after and at the end in a round of all nouns; -1 means none. */
  function wordsAt(shape: number): [first: number, last: number, tail: number] {
    if (shape >= short) {
      const [one, two] = wordsAt((shape - short) % short);
      return [one, two, (Math.floor((shape - short) / short) + index) % tails.length];
    }
    if (shape === 0) return [-1, -1, -1];
    // Nouns have the words in different orders.
    if (shape <= before + after) {
      const one = (shape + 7 * index) % (before + after);
      return one < before ? [one, -1, -1] : [-1, one - before, -1];
    }
    const two = (shape + 7 * index) % (before * after);
    return [two % before, Math.floor(two / before), -1];
  }
}
