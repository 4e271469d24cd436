import { Marked, type Tokens } from 'marked';
import { getHeadingList, gfmHeadingId } from 'marked-gfm-heading-id';

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
 * @param addressOf the address on the site for a link of the document.
 */
export function renderMarkdown(text: string, addressOf: (href: string) => string): Rendered {
  let examples = 0;
  const marked = new Marked(gfmHeadingId(), {
    walkTokens(token) {
      if (token.type === 'link') token.href = addressOf(token.href);
    },
    renderer: {
      // Elements that scroll must be reachable with the keyboard.
      code({ text, lang = '' }: Tokens.Code) {
        examples += 1;
        const id = `example-${examples}`;
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
