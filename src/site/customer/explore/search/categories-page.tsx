import type { VNode } from 'preact';
import { Field } from '../../../kit/form.tsx';
import { addressOf } from '../../../kit/paging.tsx';
import { count } from '../../../kit/words.tsx';
import type { ExplorePage } from '../explore-page.tsx';
import { SiteChoice, siteOf } from '../site-choice.tsx';
import { type ShowContext, type View, viewOf } from '../view.ts';
import { AsinList, detailsView } from './asin-list.tsx';

interface Category {
  catId: number | bigint;
  name?: string | null;
  parent?: number | bigint | null;
  children?: (number | bigint)[] | null;
  productCount?: number | null;
}

interface TreeData {
  domainId: number;
  categories: Record<string, Category>;
}

interface FoundData {
  domainId: number;
  categories: Category[];
}

interface BestSellersData {
  domainId: number;
  bestSellersList: { asinList: string[] };
}

const PATH = '/explore/categories';

/** The page of the category tree and the best sellers of a category. */
export const categoriesPage: ExplorePage = {
  path: PATH,
  title: 'Best sellers',
  lead: 'Walk through the categories of a site, or search for one, to its best sellers.',
  fields: (
    <>
      <SiteChoice />
      <Field name="category" label="Category id" placeholder="0" maxLength={20} />
      <Field name="term" label="or words in its name" placeholder="kitchen" maxLength={200} />
    </>
  ),
  fieldNames: ['domain', 'category', 'term'],
  fieldOf: {},
  button: 'Show the price',
  intro: 'Enter words in the name of a category, its id, or 0 for all root categories.',
  views(values) {
    const { category, term } = values;
    const domain = siteOf(values);
    if (category !== undefined) return [treeView(domain, category), ...bestSellers(domain, category)];
    return term === undefined ? null : [searchView(domain, term)];
  },
};

function treeView(domain: unknown, category: string): View {
  return viewOf<TreeData>({
    name: 'tree',
    title: category === '0' ? 'Root categories' : 'Category',
    button: 'Show the category',
    operation: 'market.category',
    parameters: { domain, category },
    show: ({ categories, domainId }) => {
      const found = Object.values(categories);
      if (category === '0') return <CategoryList categories={found} domain={domainId} />;
      return found[0] ? (
        <CategoryFacts category={found[0]} domain={domainId} />
      ) : (
        <p class="empty">No category.</p>
      );
    },
    rows: ({ categories }) => Object.values(categories).map(rowOf),
  });
}

function searchView(domain: unknown, term: string): View {
  return viewOf<FoundData>({
    name: 'found',
    title: 'Categories',
    button: 'Search categories',
    operation: 'market.categorysearch',
    parameters: { domain, term },
    show: ({ categories, domainId }) => <CategoryList categories={categories} domain={domainId} />,
    rows: ({ categories }) => categories.map(rowOf),
  });
}

/** All root categories together have no best sellers. */
function bestSellers(domain: unknown, category: string): View[] {
  if (category === '0') return [];
  return [
    viewOf<BestSellersData>({
      name: 'best',
      title: 'Best sellers',
      button: 'Show the best sellers',
      operation: 'market.bestseller',
      parameters: { domain, category },
      show: ({ bestSellersList, domainId }, context: ShowContext) => (
        <AsinList asins={bestSellersList.asinList} domain={domainId} id="best" context={context} />
      ),
      rows: ({ bestSellersList }) => bestSellersList.asinList.map((asin, i) => ({ place: i + 1, asin })),
      next: ({ bestSellersList, domainId }, query) => detailsView(bestSellersList.asinList, domainId, query),
    }),
  ];
}

function rowOf({ catId, name, productCount }: Category): Record<string, unknown> {
  return { catId: String(catId), name, products: productCount };
}

function addressIn(domain: number, id: number | bigint): string {
  return addressOf(PATH, { domain: String(domain), category: String(id) });
}

function CategoryList({ categories, domain }: { categories: readonly Category[]; domain: number }): VNode {
  if (categories.length === 0) return <p class="empty">No categories.</p>;
  return (
    <ul class="asins">
      {categories.map(({ catId, name, productCount }) => (
        <li key={String(catId)}>
          <a href={addressIn(domain, catId)}>{name ?? String(catId)}</a>
          {typeof productCount === 'number' && <small> {count(productCount)} products</small>}
        </li>
      ))}
    </ul>
  );
}

function CategoryFacts({ category, domain }: { category: Category; domain: number }): VNode {
  const { name, catId, parent, children, productCount } = category;
  return (
    <>
      <h3>{name ?? String(catId)}</h3>
      <p>
        {typeof productCount === 'number' && `${count(productCount)} products. `}
        <a href={addressIn(domain, parent ?? 0)}>{parent ? 'Parent category' : 'All root categories'}</a>
      </p>
      {children && children.length > 0 && (
        <>
          <h4>Subcategories by id</h4>
          <ul class="asins">
            {children.map((id) => (
              <li key={String(id)}>
                <a href={addressIn(domain, id)}>{String(id)}</a>
              </li>
            ))}
          </ul>
        </>
      )}
    </>
  );
}
