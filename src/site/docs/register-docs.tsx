import type { FastifyInstance } from 'fastify';
import type { VNode } from 'preact';
import { refusingOtherMethods } from '../../api/plugins/other-methods.ts';
import { sendVersion, type Version, versionOf } from '../../api/version.ts';
import type { Announcement } from '../../operator/announcements.ts';
import { recentlyUsed } from '../../platform/recently-used.ts';
import { VISITOR, type Viewer } from '../kit/layout.tsx';
import { setPageHeaders } from '../kit/page-headers.ts';
import { keptHtml } from '../kit/render.tsx';
import type { Pages } from '../pages.ts';
import { returningViewer } from '../session.ts';
import { DocsIndex } from './docs-index.tsx';
import { GuidePage } from './guide-page.tsx';
import { GUIDES, renderGuide } from './guides.ts';
import { ReferencePage } from './reference-page.tsx';

const CUSTOMER: Viewer = { kind: 'returning', to: 'customer' };

/** Pages whose content is the same for all readers. */
const PAGES = new Map<string, VNode>([
  ['/docs', <DocsIndex />],
  ...GUIDES.map(
    (guide) => [`/docs/${guide.slug}`, <GuidePage guide={guide} content={renderGuide(guide)} />] as const,
  ),
  ['/docs/api', <ReferencePage />],
]);

/** Each page with the navigation of a visitor and with that of a customer, rendered once before a gateway of the process listens. */
const RENDERED = new Map(
  [...PAGES].map(([path, content]) => {
    const visitor = render(content, VISITOR, []);
    return [path, { visitor, customer: render(content, CUSTOMER, []) }] as const;
  }),
);

/** The most pages with announcements that are kept. */
const MAX_ANNOUNCING = 200;

/** Registers the guides and the API reference, which need no key. */
export function registerDocs(app: FastifyInstance, { limits }: Pick<Pages, 'limits'>): void {
  app.register(async (scope) => {
    limits.openPages.limit(scope);
    setPageHeaders(scope);
    const announcing = recentlyUsed<string, Version>(MAX_ANNOUNCING);
    refusingOtherMethods(scope, (pages) => {
      for (const [path, content] of PAGES) {
        pages.get(path, async (request, reply) => {
          const viewer = returningViewer(request).kind === 'visitor' ? VISITOR : CUSTOMER;
          const shown = app.announcementsFor(request, viewer);
          return sendVersion(request, reply, versionFor(path, content, viewer, shown));
        });
      }
    });

    function versionFor(
      path: string,
      content: VNode,
      viewer: Viewer,
      shown: readonly Announcement[],
    ): Version {
      const rendered = RENDERED.get(path)?.[viewer.kind === 'visitor' ? 'visitor' : 'customer'];
      if (shown.length === 0 && rendered) return rendered;
      const key = `${path} ${viewer.kind} ${shown.map(({ id }) => id).join('.')}`;
      const version = announcing.get(key) ?? render(content, viewer, shown);
      announcing.set(key, version);
      return version;
    }
  });
}

function render(content: VNode, viewer: Viewer, announcements: readonly Announcement[]): Version {
  return versionOf(keptHtml(content, { viewer, announcements }), 'text/html; charset=utf-8');
}
