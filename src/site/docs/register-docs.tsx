import type { FastifyInstance } from 'fastify';
import type { VNode } from 'preact';
import { refusingOtherMethods } from '../../api/plugins/other-methods.ts';
import { sendVersion, type Version, versionOf } from '../../api/version.ts';
import { VISITOR, type Viewer } from '../kit/layout.tsx';
import { CurrentPage, STATIC_PAGE } from '../kit/page-context.ts';
import { setPageHeaders } from '../kit/page-headers.ts';
import { renderHtml } from '../kit/render.tsx';
import { returningViewer } from '../session.ts';
import { DocsIndex } from './docs-index.tsx';
import { GuidePage } from './guide-page.tsx';
import { GUIDES } from './guides.ts';
import { ReferencePage } from './reference-page.tsx';

/** A page with the navigation of a visitor, and with that of a customer. */
type Variants = Record<'visitor' | 'customer', Version>;

/** Pages whose content is the same for all readers, rendered once before a gateway of the process listens. */
const PAGES = new Map<string, Variants>([
  ['/docs', variants(<DocsIndex />)],
  ...GUIDES.map((guide) => [`/docs/${guide.slug}`, variants(<GuidePage guide={guide} />)] as const),
  ['/docs/api', variants(<ReferencePage />)],
]);

/** Registers the guides and the API reference, which need no key. */
export function registerDocs(app: FastifyInstance): void {
  app.register(async (scope) => {
    setPageHeaders(scope);
    refusingOtherMethods(scope, (pages) => {
      for (const [path, variants] of PAGES) {
        pages.get(path, async (request, reply) => {
          const viewer = returningViewer(request);
          return sendVersion(request, reply, variants[viewer.kind === 'visitor' ? 'visitor' : 'customer']);
        });
      }
    });
  });
}

function variants(content: VNode): Variants {
  const page = (viewer: Viewer) => {
    const html = renderHtml(
      <CurrentPage.Provider value={{ ...STATIC_PAGE, viewer }}>{content}</CurrentPage.Provider>,
    );
    return versionOf(html, 'text/html; charset=utf-8');
  };
  return { visitor: page(VISITOR), customer: page({ kind: 'returning', to: 'customer' }) };
}
