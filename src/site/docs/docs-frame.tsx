import type { ComponentChildren, VNode } from 'preact';
import { Page } from '../kit/layout.tsx';
import { GUIDES } from './guides.ts';
import type { Heading } from './markdown.ts';

interface DocsFrameProps {
  title: string;
  path: string;
  /** Headings of the page; without any, the page has no table of contents. */
  headings?: readonly Heading[];
  children: ComponentChildren;
}

/** The frame of a guide: the list of guides, the content, and a table of contents. */
export function DocsFrame({ title, path, headings = [], children }: DocsFrameProps): VNode {
  return (
    <Page title={title} path={path} styles={['docs.css']} scripts={['docs.js']} wide>
      <div class="docs">
        <nav class="docs-guides" aria-label="Guides">
          <ul>
            {GUIDES.map(({ slug, title: name }) => (
              <GuideLink key={slug} href={`/docs/${slug}`} name={name} path={path} />
            ))}
            <GuideLink href="/docs/api" name="API reference" path={path} />
          </ul>
        </nav>
        <article class="prose">{children}</article>
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
