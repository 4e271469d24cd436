import type { FastifyInstance } from 'fastify';
import { allowPictures } from '../../kit/page-headers.ts';
import type { Pages } from '../../pages.ts';
import { registerExplorePage } from './explore-page.tsx';
import { keywordPage } from './keyword/keyword-page.tsx';
import { ranksPage } from './keyword/ranks-page.tsx';
import { productPage } from './product/product-page.tsx';
import { categoriesPage } from './search/categories-page.tsx';
import { dealsPage, finderPage, searchPage, sellerPage } from './search/search-pages.tsx';
import { todayPage } from './trends/today-page.tsx';
import { trendsPage } from './trends/trends-page.tsx';
import { createViewBytes } from './view-bytes.ts';

const EXPLORE_PAGES = [
  ...[productPage, searchPage, finderPage, categoriesPage, dealsPage, sellerPage],
  ...[keywordPage, ranksPage, trendsPage, todayPage],
];

/** Registers the pages for looking at data. They may show pictures of the image host, if that is not this installation. */
export function registerExplore(account: FastifyInstance, pages: Pages): void {
  account.register(async (scope) => {
    if (!pages.hasDemoPictures) scope.addHook('onRequest', allowPictures(new URL(pages.imageCdnUrl).origin));
    scope.decorate('viewBytes', createViewBytes());
    scope.get('/explore', (_request, reply) => reply.redirect(productPage.path, 303));
    for (const page of EXPLORE_PAGES) registerExplorePage(scope, pages, page);
  });
}
