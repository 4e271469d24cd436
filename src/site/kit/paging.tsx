import type { VNode } from 'preact';
import { z } from 'zod';
import type { FormValues } from './form-request.ts';

/** An address with a query, of which what is absent or empty is left out. */
export function addressOf(path: string, query: Readonly<FormValues>): string {
  const given = Object.entries(query).filter((entry): entry is [string, string] => Boolean(entry[1]));
  return given.length > 0 ? `${path}?${new URLSearchParams(given)}` : path;
}

/** A field of a filter: a choice that was not made is sent as nothing. */
export function optional<Value>(schema: z.ZodType<Value>): z.ZodType<Value | undefined> {
  return z.preprocess((value) => (value === '' ? undefined : value), schema.optional());
}

/** A page of a longer list. */
export interface Listed<Item> {
  items: readonly Item[];
  /** What the page was asked for, with the cursor it began after. */
  query: FormValues;
  /** Cursor of the next page; null after the last one. */
  next: string | null;
}

/** Cuts what was read with one item more than a page holds. */
export function pageOf<Item>(
  found: readonly Item[],
  limit: number,
  query: FormValues,
  cursorOf: (item: Item) => string | number,
): Listed<Item> {
  const items = found.slice(0, limit);
  const last = found.length > limit ? items.at(-1) : undefined;
  return { items, query, next: last === undefined ? null : String(cursorOf(last)) };
}

/** Leads on through a list, and back to its beginning; nothing where all of it is seen. */
export function MorePages(props: {
  path: string;
  list: Pick<Listed<unknown>, 'query' | 'next'>;
  /** Name of the cursor in the address. */
  cursor?: string;
}): VNode | null {
  const { path, list, cursor = 'cursor' } = props;
  const { [cursor]: begun, ...filters } = list.query;
  if (!begun && list.next === null) return null;
  return (
    <nav class="pages" aria-label="Pages">
      {begun && (
        <a class="button small" href={addressOf(path, filters)}>
          Newest
        </a>
      )}
      {list.next !== null && (
        <a class="button small" href={addressOf(path, { ...filters, [cursor]: list.next })}>
          Older
        </a>
      )}
    </nav>
  );
}
