import { Fragment, type VNode } from 'preact';
import { addressOf } from '../../../kit/paging.tsx';

export const CATEGORIES_PATH = '/explore/categories';

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
export function categoryAddress(domain: number, id: number | bigint): string {
  return addressOf(CATEGORIES_PATH, { domain: String(domain), category: String(id) });
}
