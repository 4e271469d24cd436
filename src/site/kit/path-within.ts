const BASE = 'http://souk.invalid';

/**
 * A path of this site that a form or an address names, as a browser would normalise it.
 * @param roots first segments that it may have. @returns null for other paths, and for addresses of other sites.
 */
export function pathWithin(to: unknown, roots: readonly string[]): string | null {
  if (typeof to !== 'string' || !/^\/[\x21-\x5b\x5d-\x7e]*$/.test(to) || !URL.canParse(to, BASE)) return null;
  const { origin, pathname, search } = new URL(to, BASE);
  const [, root = ''] = pathname.split('/');
  return origin === BASE && roots.includes(root) ? `${pathname}${search}` : null;
}
