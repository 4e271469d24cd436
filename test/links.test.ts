import { existsSync, readFileSync, statSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { Marked, type Token } from 'marked';
import { getHeadingList, gfmHeadingId } from 'marked-gfm-heading-id';
import { describe, expect, test } from 'vitest';
import { documents } from '../scripts/generate.ts';

/** Pages of the site, which the guides link to by their addresses. */
const SITE_PAGES = ['/docs/api', '/openapi.json'];

/** A file or folder of the repository, named as code from the root. */
const REPOSITORY_PATH = /^(?:src|jobs|workers|demo|test|scripts|docs)\/[\w./-]+$/;

/** Files that a checkout may lack, because commands write them. */
const ignored = readFileSync('.gitignore', 'utf8').split('\n');

const paths = [...documents(), 'src/billing/README.md', 'CHANGELOG.md', 'test/README.md'].filter(existsSync);
const parsed = new Map(paths.map((path) => [path, parse(readFileSync(path, 'utf8'))]));

/** Addresses of links and images, paths of the repository named as code, and the anchors of headings, of a document. */
function parse(text: string): { links: string[]; named: string[]; anchors: Set<string> } {
  const links: string[] = [];
  const named: string[] = [];
  const marked = new Marked(gfmHeadingId(), {
    walkTokens(token: Token) {
      if (token.type === 'link' || token.type === 'image') links.push(token.href);
      if (token.type === 'codespan' && REPOSITORY_PATH.test(token.text)) named.push(token.text);
    },
  });
  const html = marked.parse(text, { async: false });
  for (const [, address = ''] of html.matchAll(/\b(?:src|srcset)="([^"]+)"/g)) links.push(address);
  return { links, named, anchors: new Set(getHeadingList().map(({ id }) => id)) };
}

function leadsSomewhere(from: string, link: string): boolean {
  if (/^https?:/.test(link)) return true;
  if (link.startsWith('/')) return from.startsWith('docs/guides/') && SITE_PAGES.includes(link);
  const [path = '', anchor] = link.split('#');
  const target = path === '' ? from : normalize(join(dirname(from), path));
  if (!existsSync(target)) return false;
  if (anchor === undefined) return true;
  return statSync(target).isFile() && (parsed.get(target)?.anchors.has(anchor) ?? false);
}

test.each([
  ['CONTRIBUTING.md#no-such-heading', false],
  ['docs/no-such-page.md', false],
  ['/docs/api', false],
  ['CONTRIBUTING.md', true],
  ['docs', true],
])('a link from README.md to %s: %s', (link, expected) => {
  expect(leadsSomewhere('README.md', link)).toBe(expected);
});

describe.each(paths)('%s', (path) => {
  test('links only to existing files and headings', () => {
    const { links = [] } = parsed.get(path) ?? {};
    expect(links.filter((link) => !leadsSomewhere(path, link))).toEqual([]);
  });

  // The changelog may name files that are gone.
  test.skipIf(path === 'CHANGELOG.md')('names only existing files of the repository', () => {
    const { named = [] } = parsed.get(path) ?? {};
    expect(named.filter((file) => !existsSync(file) && !ignored.includes(file))).toEqual([]);
  });
});
