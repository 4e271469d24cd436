import type { FastifyInstance } from 'fastify';
import type { VNode } from 'preact';
import { refusingOtherMethods } from '../../api/plugins/other-methods.ts';
import { sendVersion, type Version, versionOf } from '../../api/version.ts';
import { setPageHeaders } from '../kit/page-headers.ts';
import { renderHtml } from '../kit/render.tsx';
import { DocsIndex } from './docs-index.tsx';
import { GuidePage } from './guide-page.tsx';
import { GUIDES } from './guides.ts';
import { ReferencePage } from './reference-page.tsx';

/** Pages that are the same for all readers, rendered once before a gateway of the process listens. */
const PAGES = new Map<string, Version>([
  ['/docs', page(<DocsIndex />)],
  ...GUIDES.map((guide) => [`/docs/${guide.slug}`, page(<GuidePage guide={guide} />)] as const),
  ['/docs/api', page(<ReferencePage />)],
]);

/** Registers the guides and the API reference, which need no key. */
export function registerDocs(app: FastifyInstance): void {
  app.register(async (scope) => {
    setPageHeaders(scope);
    refusingOtherMethods(scope, (pages) => {
      for (const [path, version] of PAGES) {
        pages.get(path, async (request, reply) => sendVersion(request, reply, version));
      }
    });
  });
}

function page(content: VNode): Version {
  return versionOf(renderHtml(content), 'text/html; charset=utf-8');
}
