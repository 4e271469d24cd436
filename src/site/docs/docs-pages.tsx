import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { ComponentChildren, VNode } from 'preact';
import { refusingOtherMethods } from '../../api/plugins/other-methods.ts';
import { SoukError } from '../../platform/errors.ts';
import { Card } from '../kit/elements.tsx';
import { readValues } from '../kit/form-request.ts';
import { Page } from '../kit/layout.tsx';
import { createKeptPages, sendPage, setPageHeaders } from '../kit/render.tsx';
import { VISITOR, type Viewer } from '../kit/viewer.ts';
import type { Pages } from '../pages.ts';
import { returningViewer } from '../session.ts';
import { GUIDES, type Guide, guideText, type Heading, type Rendered, renderGuide } from './guides.ts';
import { CHAPTERS, chapterHeadings, ReferenceChapter, ReferenceIndex } from './reference.tsx';
import { type Hit, LONGEST_QUERY, searchGuides } from './search.ts';

const CUSTOMER: Viewer = { kind: 'returning' };

/** Pages whose content is the same for all readers. */
const PAGES = new Map<string, VNode>([
  ['/docs', <DocsIndex />],
  ...GUIDES.map(
    (guide) => [`/docs/${guide.slug}`, <GuidePage guide={guide} content={renderGuide(guide)} />] as const,
  ),
  ['/docs/api', <ReferencePage title="API reference" path="/docs/api" content={<ReferenceIndex />} />],
  ...CHAPTERS.map((chapter) => {
    const path = `/docs/api/${chapter.tag}`;
    const content = <ReferenceChapter chapter={chapter} />;
    const headings = chapterHeadings(chapter);
    const page = <ReferencePage title={chapter.title} path={path} content={content} headings={headings} />;
    return [path, page] as const;
  }),
]);

/** Registers the guides and the API reference, which need no key. */
export function registerDocs(app: FastifyInstance, { limits }: Pick<Pages, 'limits'>): void {
  app.register(async (scope) => {
    limits.openPages.limit(scope);
    setPageHeaders(scope);
    const sendKept = createKeptPages();
    refusingOtherMethods(scope, (pages) => {
      registerTexts(pages);
      pages.get('/docs/search', async (request, reply) => {
        const { q = '' } = readValues(request.query);
        return sendPage(reply, <SearchPage query={q.slice(0, LONGEST_QUERY)} />, 200, viewerFor(request));
      });
      const sendGuide = (request: FastifyRequest, reply: FastifyReply, path: string) => {
        const content = PAGES.get(path);
        if (!content) return reply.callNotFound();
        return sendKept(reply, { key: path, viewer: viewerFor(request), page: () => content });
      };
      pages.get('/docs', async (request, reply) => sendGuide(request, reply, '/docs'));
      pages.get<{ Params: { slug: string } }>('/docs/:slug', async (request, reply) =>
        sendGuide(request, reply, `/docs/${request.params.slug}`),
      );
      pages.get<{ Params: { tag: string } }>('/docs/api/:tag', async (request, reply) =>
        sendGuide(request, reply, `/docs/api/${request.params.tag}`),
      );
    });
  });
}

function viewerFor(request: FastifyRequest): Viewer {
  return returningViewer(request).kind === 'visitor' ? VISITOR : CUSTOMER;
}

const MARKDOWN = 'text/markdown; charset=utf-8';

/** Registers the guides as Markdown, and their list for language models (llmstxt.org). */
function registerTexts(scope: FastifyInstance): void {
  scope.get<{ Params: { slug: string } }>('/docs/:slug.md', async ({ params }, reply) => {
    const guide = GUIDES.find(({ slug }) => slug === params.slug);
    if (!guide) throw new SoukError('NOT_FOUND');
    return reply.type(MARKDOWN).header('cache-control', KEPT_FOR).send(guideText(guide));
  });
  scope.get('/llms.txt', async (_request, reply) =>
    reply.type('text/plain; charset=utf-8').header('cache-control', KEPT_FOR).send(LLMS_TEXT),
  );
}

const KEPT_FOR = 'public, max-age=3600';

const LLMS_TEXT = `# Souk

> Marketplace data over HTTP, as tools for agents (MCP at /mcp), and on pages: products, prices, ranks, keywords, search trends. Each call costs units.

## Guides

${GUIDES.map(({ slug, title, summary }) => `- [${title}](/docs/${slug}.md): ${summary}`).join('\n')}

## Reference

- [OpenAPI 3.1](/openapi.json): Every address with its parameters, answers and errors.
`;

/** What the guides say about a query. */
function SearchPage({ query }: { query: string }): VNode {
  const hits = searchGuides(query);
  return (
    <DocsFrame title="Search the documentation" path="/docs/search" query={query}>
      <h1>Search</h1>
      {query.trim() === '' ? (
        <p>Enter a word, such as “webhook”.</p>
      ) : hits.length === 0 ? (
        <p>
          No guide has “{query}”. Try another word, or read the <a href="/docs/api">API reference</a>.
        </p>
      ) : (
        <Hits hits={hits} />
      )}
    </DocsFrame>
  );
}

/** Sections of guides that a search has found. */
export function Hits({ hits }: { hits: readonly Hit[] }): VNode {
  return (
    <ul class="hits">
      {hits.map(({ guide, heading, address, excerpt }) => (
        <li key={address}>
          <a href={address}>{guide.title === heading ? heading : `${guide.title}: ${heading}`}</a>
          <p class="hint">{excerpt}</p>
        </li>
      ))}
    </ul>
  );
}

function DocsIndex(): VNode {
  return (
    <DocsFrame title="Documentation" path="/docs">
      <h1>Documentation</h1>
      <p class="lead">
        Products, categories, sellers, deals, keywords and search trends of the marketplace, over HTTP and as
        tools for agents.
      </p>
      <div class="grid">
        {GUIDES.map(({ slug, title, summary }) => (
          <GuideCard key={slug} href={`/docs/${slug}`} title={title} summary={summary} />
        ))}
        <GuideCard
          href="/docs/api"
          title="API reference"
          summary="Every address with its parameters, answers, errors and examples."
        />
        <GuideCard
          href="/openapi.json"
          title="OpenAPI"
          summary="The API description in OpenAPI 3.1, for client generators and other tools."
        />
      </div>
    </DocsFrame>
  );
}

function GuideCard({ href, title, summary }: { href: string; title: string; summary: string }): VNode {
  return (
    <Card>
      <h2>
        <a href={href}>{title}</a>
      </h2>
      <p>{summary}</p>
    </Card>
  );
}

/** @param props.content from `renderGuide`: the page is rendered for visitors and customers. */
function GuidePage({ guide, content }: { guide: Guide; content: Rendered }): VNode {
  const { html, headings } = content;
  const next = GUIDES[GUIDES.indexOf(guide) + 1];
  return (
    <DocsFrame
      title={guide.title}
      path={`/docs/${guide.slug}`}
      headings={headings.filter(({ level }) => level === 2 || level === 3)}
    >
      {/* Rendered from a file of this repository, not from input. */}
      <div dangerouslySetInnerHTML={{ __html: html }} />
      <p class="docs-next">
        Next: <a href={next ? `/docs/${next.slug}` : '/docs/api'}>{next?.title ?? 'API reference'}</a>
      </p>
    </DocsFrame>
  );
}

/** A page of the API reference. */
function ReferencePage(props: DocsFrameProps & { content: VNode }): VNode {
  const { content, ...frame } = props;
  return (
    <DocsFrame {...frame} styles={['account.css']}>
      {content}
    </DocsFrame>
  );
}

interface DocsFrameProps {
  title: string;
  path: string;
  /** Headings of the page; without any, the page has no table of contents. */
  headings?: readonly Heading[];
  /** What is searched for. */
  query?: string;
  styles?: readonly string[];
  children?: ComponentChildren;
}

/** The frame of a guide: the list of guides, the content, and a table of contents. */
function DocsFrame({ title, path, headings = [], query, styles = [], children }: DocsFrameProps): VNode {
  return (
    <Page
      title={title}
      heading={null}
      path={path}
      styles={['docs.css', ...styles]}
      scripts={['docs.js']}
      wide
    >
      <div class="docs">
        <nav class="docs-guides" aria-label="Guides">
          <search>
            <form action="/docs/search" class="docs-search">
              <input
                type="search"
                name="q"
                value={query}
                aria-label="Search the documentation"
                placeholder="Search"
                maxLength={LONGEST_QUERY}
              />
            </form>
          </search>
          <ul>
            {GUIDES.map(({ slug, title: name }) => (
              <GuideLink key={slug} href={`/docs/${slug}`} name={name} path={path} />
            ))}
            <GuideLink href="/docs/api" name="API reference" path={path} />
            {path.startsWith('/docs/api') &&
              CHAPTERS.map(({ tag, title: name }) => (
                <GuideLink key={tag} href={`/docs/api/${tag}`} name={name} path={path} />
              ))}
          </ul>
        </nav>
        <article class="prose">
          <p class="row" data-test-key hidden>
            <button type="button" class="small">
              Put a test key into the examples
            </button>
            <span class="muted" role="status">
              Creates a test key, whose calls are free. The key is kept in this tab only.
            </span>
          </p>
          {children}
        </article>
        {headings.length > 0 && <Headings headings={headings} />}
      </div>
    </Page>
  );
}

function GuideLink({ href, name, path }: { href: string; name: string; path: string }): VNode {
  return (
    <li>
      <a href={href} aria-current={href === path ? 'page' : undefined}>
        {name}
      </a>
    </li>
  );
}

function Headings({ headings }: { headings: readonly Heading[] }): VNode {
  return (
    <nav class="docs-headings" aria-label="On this page">
      <p>On this page</p>
      <ul>
        {headings.map(({ id, level, text }) => (
          <li key={id} class={`level-${level}`}>
            <a href={`#${id}`}>{text}</a>
          </li>
        ))}
      </ul>
    </nav>
  );
}
