import type { FastifyInstance } from 'fastify';
import type { VNode } from 'preact';
import { isUuid } from '../../api/ids.ts';
import { productNamedBy } from '../../operations/products/product-address.ts';
import { Hits } from '../docs/docs-pages.tsx';
import { searchGuides } from '../docs/search.ts';
import { readValues } from '../kit/form-request.ts';
import { Page } from '../kit/layout.tsx';
import { addressOf } from '../kit/list-page.tsx';
import { CUSTOMER_PAGES, LONGEST_SEARCH, SEARCH_PATH } from '../kit/navigation.tsx';
import { sendPage } from '../kit/render.tsx';
import { PRODUCT_PATH } from './explore/explore-view.tsx';

/** The guides that a search of everything shows. */
const MOST_HITS = 6;

/** Registers the answers of the search box: a product or a call opens directly, other words lead to a list of links. */
export function registerSearch(scope: FastifyInstance): void {
  scope.get(SEARCH_PATH, async (request, reply) => {
    const { q = '' } = readValues(request.query);
    const query = q.trim().slice(0, LONGEST_SEARCH);
    const direct = addressOfThing(query);
    return direct ? reply.redirect(direct, 303) : sendPage(reply, <FoundPage query={query} />);
  });
}

/** The page of a product or a call that a text names. */
function addressOfThing(query: string): string | null {
  const product = productNamedBy(query);
  if (product)
    return addressOf(PRODUCT_PATH, {
      domain: product.domain ? `${product.domain}` : undefined,
      asin: product.asin,
    });
  return isUuid(query) ? `/account/jobs/${query.toLowerCase()}` : null;
}

function FoundPage({ query }: { query: string }): VNode {
  const words = query.toLowerCase();
  const pages = words === '' ? [] : CUSTOMER_PAGES.filter(({ name }) => name.toLowerCase().includes(words));
  const hits = searchGuides(query).slice(0, MOST_HITS);
  return (
    <Page title={query === '' ? 'Search' : `Search: ${query}`} styles={['docs.css']}>
      {query === '' ? (
        <p>Enter an ASIN, the address of a product, a keyword, the id of a call, or the name of a page.</p>
      ) : (
        <>
          <h2>Data</h2>
          <ul>
            <li>
              <a href={addressOf('/explore/keyword', { country: 'us', keyword: query })}>
                Weekly ranks of the keyword “{query}”
              </a>
            </li>
            <li>
              <a href={addressOf('/explore/search', { domain: '1', term: query })}>
                Products named “{query}”
              </a>
            </li>
            <li>
              <a href={addressOf('/explore/trends', { keyword: query })}>Search trend of “{query}”</a>
            </li>
          </ul>
        </>
      )}
      {pages.length > 0 && (
        <>
          <h2>Pages</h2>
          <ul>
            {pages.map(({ href, name, group }) => (
              <li key={href}>
                <a href={href}>{group ? `${group}: ${name}` : name}</a>
              </li>
            ))}
          </ul>
        </>
      )}
      {hits.length > 0 && (
        <>
          <h2>Documentation</h2>
          <Hits hits={hits} />
        </>
      )}
    </Page>
  );
}
