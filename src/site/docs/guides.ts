import { readFileSync } from 'node:fs';
import { errorSections } from './error-sections.ts';
import { type Rendered, renderMarkdown } from './markdown.ts';
import { priceTable, timeoutTable, toolTable } from './operation-tables.ts';

/** A guide: its text is `docs/SLUG.md`, its address `/docs/SLUG`. */
export interface Guide {
  slug: string;
  title: string;
  /** One sentence for the list of guides. */
  summary: string;
}

export const GUIDES: readonly Guide[] = [
  {
    slug: 'first-call',
    title: 'First call',
    summary: 'A key, a product, and how to read what comes back.',
  },
  {
    slug: 'prices-and-wallets',
    title: 'Prices and wallets',
    summary: 'What calls cost, what is free, and which units go first.',
  },
  {
    slug: 'long-work',
    title: 'Long work',
    summary: 'Wait for an answer, come back for it, listen to it, or cancel it.',
  },
  {
    slug: 'batches-and-schedules',
    title: 'Batches and schedules',
    summary: 'One operation for up to 100,000 items, now or every morning.',
  },
  {
    slug: 'webhooks',
    title: 'Webhooks',
    summary: 'Be told when work has ended, by signed events that are retried.',
  },
  {
    slug: 'tools-for-agents',
    title: 'Tools for agents',
    summary: 'The same operations as tools of the Model Context Protocol.',
  },
  {
    slug: 'errors',
    title: 'Errors',
    summary: 'Every code with its cause, its cure, and whether it is charged.',
  },
];

/** What a guide has for `<!-- NAME -->`: Markdown that follows from the contracts and the list of errors. */
const GENERATED: Record<string, () => string> = {
  prices: priceTable,
  timeouts: timeoutTable,
  tools: toolTable,
  errors: errorSections,
};

const MARK = /^<!-- (.+) -->$/gm;

/** The text of a guide, complete. @throws for a mark that names nothing. */
export function guideText({ slug }: Guide): string {
  const text = readFileSync(new URL(`../../../docs/${slug}.md`, import.meta.url), 'utf8');
  return text.replace(MARK, (_, name: string) => {
    const generate = GENERATED[name];
    if (!generate) throw new Error(`docs/${slug}.md: nothing is generated for "${name}".`);
    return generate();
  });
}

export function renderGuide(guide: Guide): Rendered {
  return renderMarkdown(guideText(guide));
}
