import type { VNode } from 'preact';
import { DocsFrame } from './docs-frame.tsx';
import { GUIDES, type Guide } from './guides.ts';
import type { Rendered } from './markdown.ts';

/** @param props.content from `renderGuide`: the page is rendered for visitors and customers. */
export function GuidePage({ guide, content }: { guide: Guide; content: Rendered }): VNode {
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
