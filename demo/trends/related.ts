import { fraction, hash } from '../catalog/random.ts';
import { overlap } from '../reports/vocabulary.ts';
import { wordsOf } from '../words.ts';
import { leafAbout } from './interest.ts';

const AROUND = wordsOf('related words');
const NEWS = wordsOf('related news');
const KINDS = ['Topic', 'Product', 'Company', 'Dish', 'Film', 'Website', 'Service'];

/** The words of AROUND that stand before the keyword. */
const BEFORE = new Set(['best', 'how to', 'cheap', 'homemade', 'small']);

/** Growth above this is written as a word. */
const BREAKOUT_PERCENT = 5000;

interface Scope {
  keyword: string;
  geo: string;
  time: string;
}

/** Returns the two lists of queries or topics; no lists for the topics of every fourth keyword, like upstream. */
export function related(scope: Scope, keywordType: 'QUERY' | 'ENTITY'): object[] {
  const { keyword } = scope;
  const isTopics = keywordType === 'ENTITY';
  if (isTopics && hash('topics', keyword.toLowerCase()) % 4 === 0) return [];
  const term = (text: string) => {
    const link = linkOf(text, scope);
    return isTopics ? { topic: topicOf(text), link } : { query: text, link };
  };
  // A keyword about products has the words around it that the search terms of the reports have.
  const leaf = leafAbout(keyword);
  const around = leaf
    ? [...leaf.before.slice(0, 8), ...leaf.after.slice(0, 8), ...leaf.brands.slice(0, 3)]
    : AROUND;
  const textOf = (word: string) =>
    BEFORE.has(word) || leaf?.before.includes(word) || leaf?.brands.includes(word)
      ? `${word.toLowerCase()} ${keyword}`
      : `${keyword} ${word}`;
  const top = ordered(around, scope).map((word, i) => {
    const value = i === 0 ? 100 : Math.max(1, Math.round(95 / (i + fraction('top', keyword, word))));
    return { ...term(textOf(word)), value, formattedValue: String(value), hasData: true };
  });
  const rising = ordered(NEWS, scope)
    .map((word) => ({
      word,
      value: Math.round(10 * 700 ** fraction('rising', keyword, scope.time, word)) * 10,
    }))
    .sort((a, b) => b.value - a.value)
    .map(({ word, value }) => ({
      ...term(textOf(word)),
      value,
      formattedValue: value > BREAKOUT_PERCENT ? 'Breakout' : `+${value.toLocaleString('en')}%`,
    }));
  return [{ rankedKeyword: top }, { rankedKeyword: rising }];
}

function ordered(words: readonly string[], { keyword, geo, time }: Scope): string[] {
  const weight = (word: string) => hash(keyword.toLowerCase(), geo, time.slice(0, 7), word);
  return words
    .filter((word) => weight(word) % 5 > 0 && !overlap(word, keyword.toLowerCase()))
    .sort((a, b) => weight(b) - weight(a));
}

function topicOf(text: string) {
  const title = text.replace(/^./, (letter) => letter.toUpperCase());
  const type = KINDS[hash('kind', text) % KINDS.length] ?? 'Topic';
  return { mid: `/m/0${hash('mid', text).toString(36).slice(0, 5)}`, title, type };
}

function linkOf(text: string, { geo, time }: Scope): string {
  const query = new URLSearchParams({ q: text, date: time, ...(geo === '' ? {} : { geo }) });
  return `/trends/explore?${query.toString()}`;
}
