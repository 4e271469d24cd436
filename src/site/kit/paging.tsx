import type { VNode } from 'preact';
import { z } from 'zod';
import { cutPage } from '../../api/endpoints/page.ts';
import type { FormValues } from './form-request.ts';

/** An address with a query. Absent and empty values are omitted. */
export function addressOf(path: string, query: Readonly<FormValues>): string {
  const given = Object.entries(query).filter((entry): entry is [string, string] => Boolean(entry[1]));
  return given.length > 0 ? `${path}?${new URLSearchParams(given)}` : path;
}

/** An optional field: browsers send an empty string for a field without a value. */
export function optional<Value>(schema: z.ZodType<Value>): z.ZodType<Value | undefined> {
  return z.preprocess((value) => (value === '' ? undefined : value), schema.optional());
}

/** A page of a longer list. */
export interface Listed<Item> {
  items: readonly Item[];
  /** The filters of the page, and the cursor after which it starts. */
  query: FormValues;
  /** Cursor of the next page; null after the last one. */
  next: string | null;
}

/** Makes a page of rows that were read with one more than the page holds. */
export function pageOf<Item>(
  found: readonly Item[],
  limit: number,
  query: FormValues,
  cursorOf: (item: Item) => string | number,
): Listed<Item> {
  const { entries, nextCursor } = cutPage(found, limit, (item) => String(cursorOf(item)));
  return { items: entries, query, next: nextCursor };
}

/** Links to the next page and to the first page; nothing if the list has one page. */
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
