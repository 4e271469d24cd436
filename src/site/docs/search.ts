import { GUIDES, type Guide, guideText, renderGuide } from './guides.ts';

/** A part of a guide: the text below a heading. */
interface Section {
  guide: Guide;
  heading: string;
  address: string;
  text: string;
  /** Lower case. */
  found: { title: string; heading: string; text: string };
}

/** A section that has all words of a search. */
export interface Hit {
  guide: Guide;
  heading: string;
  address: string;
  /** The text around the first word. */
  excerpt: string;
}

export const LONGEST_QUERY = 100;

const MOST_WORDS = 8;

const MOST_HITS = 20;

const HEADING = /^#{1,3} +(.+)$/;

/** The sections of all guides, read at the first search. */
let sections: readonly Section[] | null = null;

/** Returns the sections of the guides that have all words of a query, the best first. */
export function searchGuides(query: string): Hit[] {
  const words = wordsOf(query);
  if (words.length === 0) return [];
  sections ??= GUIDES.flatMap(sectionsOf);
  return sections
    .map((section) => ({ section, score: scoreOf(section, words) }))
    .filter(({ score }) => score > 0)
    .sort((a, b) => b.score - a.score)
    .slice(0, MOST_HITS)
    .map(({ section: { guide, heading, address, text, found } }) => ({
      guide,
      heading,
      address,
      excerpt: excerptOf(text, found.text.indexOf(words[0] ?? '')),
    }));
}

function wordsOf(query: string): string[] {
  const words = query.slice(0, LONGEST_QUERY).toLowerCase().split(/\s+/);
  return words.filter((word) => word.length > 1).slice(0, MOST_WORDS);
}

function sectionsOf(guide: Guide): Section[] {
  const { headings } = renderGuide(guide);
  const ids = headings.filter(({ level }) => level <= 3);
  const parts: { heading: string; id: string; lines: string[] }[] = [];
  let isCode = false;
  for (const line of guideText(guide).split('\n')) {
    if (line.startsWith('```')) isCode = !isCode;
    const heading = isCode ? null : HEADING.exec(line);
    if (heading) {
      const { id = '', text = '' } = ids[parts.length] ?? {};
      parts.push({ heading: plain(text), id, lines: [] });
    } else parts.at(-1)?.lines.push(line);
  }
  return parts.map(({ heading, id, lines }, i) => {
    const text = plain(lines.join(' '));
    return {
      guide,
      heading,
      address: i === 0 ? `/docs/${guide.slug}` : `/docs/${guide.slug}#${id}`,
      text,
      found: {
        title: guide.title.toLowerCase(),
        heading: heading.toLowerCase(),
        text: text.toLowerCase(),
      },
    };
  });
}

/** Removes the marks of Markdown. */
function plain(markdown: string): string {
  return markdown
    .replace(/\]\([^)\s]*\)/g, '')
    .replace(/[`*|[\]]|:?-{3,}:?/g, ' ')
    .replace(/\s+/g, ' ')
    .trim();
}

/** A word in a heading counts more than one in the text. 0: a word is missing. */
function scoreOf({ found: { title, heading, text } }: Section, words: readonly string[]): number {
  let score = 0;
  for (const word of words) {
    const points =
      (heading.includes(word) ? 6 : 0) + (title.includes(word) ? 3 : 0) + (text.includes(word) ? 1 : 0);
    if (points === 0) return 0;
    score += points;
  }
  return score;
}

const BEFORE_CHARACTERS = 60;

const EXCERPT_CHARACTERS = 200;

function excerptOf(text: string, at: number): string {
  const start = text.lastIndexOf(' ', Math.max(0, at - BEFORE_CHARACTERS)) + 1;
  const end = text.lastIndexOf(' ', start + EXCERPT_CHARACTERS);
  const isWhole = start + EXCERPT_CHARACTERS >= text.length;
  const excerpt = text.slice(start, isWhole || end <= start ? start + EXCERPT_CHARACTERS : end);
  return `${start > 0 ? '… ' : ''}${excerpt}${isWhole ? '' : ' …'}`;
}
