const BASE = 'http://souk.invalid';

/** Encoded in a header, a longer path could exceed the 4 to 16 KB that proxies and clients accept. */
const LONGEST_PATH = 1_000;

/** Returns the query that names the path to return to after signing in; empty if the path is too long. */
export function returnQuery(path: string): string {
  return path.length > LONGEST_PATH ? '' : `?to=${encodeURIComponent(path)}`;
}

/**
 * A path of this site that a form or an address names, as a browser would normalise it.
 * @param roots first segments that it may have. @returns null for other paths, and for addresses of other sites.
 */
export function pathWithin(to: unknown, roots: readonly string[]): string | null {
  if (
    typeof to !== 'string' ||
    to.length > LONGEST_PATH ||
    !/^\/[\x21-\x5b\x5d-\x7e]*$/.test(to) ||
    !URL.canParse(to, BASE)
  )
    return null;
  const { origin, pathname, search } = new URL(to, BASE);
  const [, root = ''] = pathname.split('/');
  return origin === BASE && roots.includes(root) ? `${pathname}${search}` : null;
}
