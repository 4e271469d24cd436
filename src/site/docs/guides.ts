import { readFileSync } from 'node:fs';
import { Marked, type Tokens } from 'marked';
import { getHeadingList, gfmHeadingId } from 'marked-gfm-heading-id';
import { h } from 'preact';
import { renderToString } from 'preact-render-to-string';
import { projectFile } from '../../platform/project.ts';
import { CallExamples, EXAMPLE_ADDRESS } from '../kit/call-examples.tsx';
import { requestOfCurl } from './curl-line.ts';

/** A guide: its text is `docs/guides/SLUG.md`, its address `/docs/SLUG`. */
export interface Guide {
  slug: string;
  title: string;
  /** One sentence for the list of guides. */
  summary: string;
}

const TEXTS = [
  ['first-call', 'First call', 'Send a request with your key, and read the answer.'],
  ['test-mode', 'Test mode', 'Make free calls with a test key, which return generated data.'],
  [
    'clients',
    'Clients',
    'Call the service from TypeScript, with curl and from Python, and survive broken connections.',
  ],
  [
    'analysis-tools',
    'Spreadsheets and notebooks',
    'Read tables in Google Sheets, Excel, pandas, DuckDB, R, n8n and Zapier.',
  ],
  ['from-keepa', 'From Keepa to Souk', 'What you know from Keepa, and what it is called here.'],
  [
    'prices-and-wallets',
    'Prices and wallets',
    'What calls cost, which calls are free, and which units are used first.',
  ],
  ['long-work', 'Long-running calls', 'Wait for an answer, poll for it, follow its events, or cancel it.'],
  [
    'batches-and-schedules',
    'Batches and schedules',
    'Run one operation for up to 100,000 items, once or on a schedule.',
  ],
  ['webhooks', 'Webhooks', 'Receive a signed event when a job or a batch ends.'],
  ['teams', 'Teams', 'Invite people to an account, choose their roles, and read who changed what.'],
  [
    'connections',
    'Connections',
    'Let a program use your account without a key: what it may do, its budget, and its end.',
  ],
  ['mails', 'Mails', 'Confirm your address, replace a forgotten password, and choose notices.'],
  ['product-data', 'Product data', 'How products, variations, searches, deals and sellers behave.'],
  ['fields', 'Fields and columns', 'The columns of all tables, with their types, units and meanings.'],
  [
    'search-trends',
    'Search trends',
    'Interest over time and by region, related searches, trending searches.',
  ],
  ['brand-analytics', 'Brand analytics', 'Weekly search-term ranks, keyword histories and reverse look-ups.'],
  [
    'research',
    'Research',
    'Keywords and products as joined answers, whose figures state source, date and formula.',
  ],
  ['tools-for-agents', 'Tools for agents', 'Use the same operations as tools of the Model Context Protocol.'],
  ['limits', 'Limits', 'Sizes, counts, rates and how long data is kept.'],
  ['errors', 'Errors', 'Every error code, with its cause and its solution.'],
] as const;

export const GUIDES: readonly Guide[] = TEXTS.map(([slug, title, summary]) => ({ slug, title, summary }));

const GENERATION_MARK = /^<!-- .* -->\n+/gm;

/** The text of a guide, without the marks of its generated parts. */
export function guideText({ slug }: Pick<Guide, 'slug'>): string {
  const text = readFileSync(projectFile(`docs/guides/${slug}.md`), 'utf8');
  return text.replace(GENERATION_MARK, '');
}

const rendered = new Map<string, Rendered>();

/** Renders a guide, once. */
export function renderGuide(guide: Guide): Rendered {
  const known = rendered.get(guide.slug);
  if (known) return known;
  const content = renderMarkdown(guideText(guide), addressOf);
  rendered.set(guide.slug, content);
  return content;
}

let solutions: ReadonlyMap<string, string> | undefined;

/** Returns what the guide to errors tells to do about one, as HTML. @param code of the error. */
export function solutionOf(code: string): string {
  solutions ??= new Map(
    [...guideText({ slug: 'errors' }).matchAll(/^### `(\w+)`$[\s\S]*?^- \*\*Solution:\*\* (.*)$/gm)].map(
      ([, name = '', solution = '']) => [name, renderLine(solution)],
    ),
  );
  return solutions.get(code) ?? '';
}

/** Renders a line of Markdown of this repository as HTML. */
export function renderLine(text: string): string {
  const marked = new Marked({
    walkTokens(token) {
      if (token.type === 'link') token.href = addressOf(token.href);
    },
  });
  return marked.parseInline(text, { async: false });
}

/** In the repository guides link to each other as files; on the site, by their addresses. */
function addressOf(href: string): string {
  return href.replace(/^([\w-]+)\.md(?=#|$)/, '/docs/$1');
}

/** Renders docs/operating/runbooks/NAME.md. The site does not have the pages to which it links. */
export function renderRunbook(name: string): { title: string; html: string } {
  const text = readFileSync(projectFile(`docs/operating/runbooks/${name}.md`), 'utf8');
  const [, title = '', body = ''] = /^# ([^\n]*)\n(.*)$/s.exec(text) ?? [];
  return { title, html: renderMarkdown(body, () => null).html };
}

export interface Heading {
  /** 1 to 6. */
  level: number;
  id: string;
  /** Without markup. */
  text: string;
}

export interface Rendered {
  html: string;
  headings: readonly Heading[];
}

/**
 * Renders a document of this repository as HTML. The text is trusted and not sanitised.
 * @param addressOf the address on the site for a link of the document; null: the site has no such page.
 */
function renderMarkdown(text: string, addressOf: (href: string) => string | null): Rendered {
  let examples = 0;
  const marked = new Marked(gfmHeadingId(), {
    renderer: {
      link({ href, tokens }: Tokens.Link) {
        const address = addressOf(href);
        const text = this.parser.parseInline(tokens);
        return address === null ? text : `<a href="${escapeHtml(address)}">${text}</a>`;
      },
      // Elements that scroll must be reachable with the keyboard.
      code({ text, lang = '' }: Tokens.Code) {
        examples += 1;
        const id = `example-${examples}`;
        const request = lang === 'sh' ? requestOfCurl(text) : null;
        if (request) return renderToString(h(CallExamples, { id, request, baseUrl: EXAMPLE_ADDRESS }));
        const copy = `<button type="button" class="small copy" data-copy="${id}" hidden>Copy</button>`;
        const code = `<pre tabindex="0"><code id="${id}" class="language-${lang}">${escapeHtml(text)}</code></pre>`;
        return `<div class="example">${lang === 'sh' || lang === 'js' ? copy : ''}${code}</div>\n`;
      },
      table(token: Tokens.Table) {
        const cells = (row: Tokens.TableCell[], tag: 'th' | 'td') =>
          row.map(({ tokens }) => {
            const scope = tag === 'th' ? ' scope="col"' : '';
            return `<${tag}${scope}>${this.parser.parseInline(tokens)}</${tag}>`;
          });
        const head = `<thead><tr>${cells(token.header, 'th').join('')}</tr></thead>`;
        const rows = token.rows.map((row) => `<tr>${cells(row, 'td').join('')}</tr>`);
        return `<div class="table" tabindex="0"><table>${head}<tbody>${rows.join('')}</tbody></table></div>\n`;
      },
    },
  });
  const html = marked.parse(text, { async: false });
  const headings = getHeadingList().map(({ level, id, raw }) => ({ level, id, text: raw }));
  return { html, headings };
}

const ENTITIES: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' };

function escapeHtml(text: string): string {
  return text.replace(/[&<>"]/g, (character) => ENTITIES[character] ?? character);
}
