import type { VNode } from 'preact';

/** A product picture of the image host, or an empty frame of the same size. */
export function Picture(props: { host: string; name: string | null | undefined; size: number }): VNode {
  const { host, name, size } = props;
  // Names come from the provider; the host gets nothing but a file name.
  return name && /^[\w+.~%-]{1,200}$/.test(name) ? (
    <img class="product" src={`${host}/images/I/${name}`} alt="" width={size} height={size} loading="lazy" />
  ) : (
    <svg class="product" width={size} height={size} aria-hidden="true" />
  );
}
