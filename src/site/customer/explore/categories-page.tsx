import { Fragment, type VNode } from 'preact';
import { addressOf } from '../../kit/list-page.tsx';
import { count } from '../../kit/words.tsx';
import {
  type ExplorePage,
  type ShowContext,
  SITE_FIELD,
  siteOf,
  type View,
  viewOf,
} from './explore-view.tsx';
import { AsinList, detailsView } from './product-lists.tsx';

const CATEGORIES_PATH = '/explore/categories';

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

/** The page of the category tree and the best sellers of a category. */
export const categoriesPage: ExplorePage = {
  path: CATEGORIES_PATH,
  title: 'Best sellers',
  lead: 'Browse or search the categories of a site, and see their best sellers.',
  fields: [
    SITE_FIELD,
    ['category', 'Category id', { placeholder: '0', maxLength: 20 }],
    ['term', 'or words in its name', { placeholder: 'kitchen', maxLength: 200 }],
  ],
  intro: 'Enter words in the name of a category, its id, or 0 for all root categories.',
  views(values) {
    const { category, term } = values;
    const domain = siteOf(values);
    if (category !== undefined) return [treeView(domain, category), ...bestSellers(domain, category)];
    return term === undefined ? null : [searchView(domain, term)];
  },
};

function treeView(domain: unknown, category: string): View {
  const isRoots = category === '0';
  return viewOf<TreeData>({
    name: 'tree',
    title: isRoots ? 'Root categories' : 'Category',
    button: 'Show the category',
    operation: 'market.category',
    parameters: { domain, category, ...(isRoots ? {} : { parents: true, children: true }) },
    show: ({ categories, domainId }) => {
      if (isRoots) return <CategoryList categories={Object.values(categories)} domain={domainId} />;
      const found = categories[category];
      return found ? (
        <CategoryFacts category={found} all={categories} domain={domainId} />
      ) : (
        <p class="empty">The provider does not know this category. Search for it by words in its name.</p>
      );
    },
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
      next: ({ bestSellersList, domainId }, query) => detailsView(bestSellersList.asinList, domainId, query),
    }),
  ];
}

function CategoryList({ categories, domain }: { categories: readonly Category[]; domain: number }): VNode {
  if (categories.length === 0) return <p class="empty">No categories.</p>;
  return (
    <ul class="asins">
      {categories.map(({ catId, name, productCount }) => (
        <li key={String(catId)}>
          <a href={categoryAddress(domain, catId)}>{name ?? String(catId)}</a>
          {typeof productCount === 'number' && <small> {count(productCount)} products</small>}
        </li>
      ))}
    </ul>
  );
}

function CategoryFacts(props: {
  category: Category;
  /** With the parents and the subcategories, by id. */
  all: Readonly<Record<string, Category>>;
  domain: number;
}): VNode {
  const { category, all, domain } = props;
  const { name, catId, children, productCount } = category;
  const below = (children ?? []).map((id): Category => all[String(id)] ?? { catId: id });
  return (
    <>
      <nav aria-label="Parent categories">
        <a href={categoryAddress(domain, 0)}>All root categories</a>
        <CategoryPath path={parentsOf(category, all)} domain={domain} isContinued />
      </nav>
      <h3>{name ?? String(catId)}</h3>
      {typeof productCount === 'number' && <p>{count(productCount)} products</p>}
      {below.length > 0 ? (
        <>
          <h4>Subcategories</h4>
          <CategoryList categories={below} domain={domain} />
        </>
      ) : (
        <p>It has no subcategories.</p>
      )}
    </>
  );
}

/** The parents of a category, root first. */
function parentsOf({ parent }: Category, all: Readonly<Record<string, Category>>): Category[] {
  const found = parent ? all[String(parent)] : undefined;
  return found ? [...parentsOf(found, all), found] : [];
}

/** Names of categories, root first, that link to their pages. */
export function CategoryPath(props: {
  path: readonly { catId: number | bigint; name?: string | null }[];
  domain: number;
  /** Whether something stands before the first name. */
  isContinued?: boolean;
}): VNode {
  const { path, domain, isContinued = false } = props;
  return (
    <>
      {path.map(({ catId, name }, i) => (
        <Fragment key={String(catId)}>
          {(i > 0 || isContinued) && <span aria-hidden="true"> › </span>}
          <a href={categoryAddress(domain, catId)}>{name ?? String(catId)}</a>
        </Fragment>
      ))}
    </>
  );
}

/** The address of the page of a category. @param id 0: all root categories. */
function categoryAddress(domain: number, id: number | bigint): string {
  return addressOf(CATEGORIES_PATH, { domain: String(domain), category: String(id) });
}
