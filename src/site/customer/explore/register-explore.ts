import type { FastifyInstance } from 'fastify';
import { allowPictures } from '../../kit/page-headers.ts';
import type { Pages } from '../../pages.ts';
import { registerExplorePage } from './explore-page.tsx';
import { productPage } from './product/product-page.tsx';

const FIRST = '/explore/product';

/** Registers the pages for looking at data. They may show pictures of the image host. */
export function registerExplore(account: FastifyInstance, pages: Pages): void {
  account.register(async (scope) => {
    scope.addHook('onRequest', allowPictures(new URL(pages.imageCdnUrl).origin));
    scope.get('/explore', (_request, reply) => reply.redirect(FIRST, 303));
    for (const page of [productPage]) registerExplorePage(scope, pages, page);
  });
}
