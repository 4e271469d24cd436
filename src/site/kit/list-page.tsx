import type { ComponentChildren, VNode } from 'preact';
import { z } from 'zod';
import { cutPage } from '../../api/endpoints/page.ts';
import { DAY_MS } from '../../platform/durations.ts';
import { SmallLink } from './elements.tsx';
import { Choice } from './form.tsx';
import type { FormValues } from './form-request.ts';
import { Page } from './layout.tsx';

/** A list page: a filter, one page of the list, and links to the other pages. */
export function ListPage(props: {
  title: string;
  lead?: ComponentChildren;
  /** Link to the form that creates an item. */
  create?: readonly [href: string, text: string];
  styles?: readonly string[];
  /** Shown before the filter. */
  intro?: ComponentChildren;
  filter?: ComponentChildren;
  /** The element that scripts refresh, and how often; null: never. */
  refresh?: { id: string; seconds: number | null };
  /** Usually a table. */
  children: ComponentChildren;
  list: Pick<Listed<unknown>, 'query' | 'next'>;
  path: string;
  /** Name of the cursor in the address. */
  cursor?: string;
  /** Shown after the list. */
  note?: ComponentChildren;
}): VNode {
  const { title, lead, create, styles = ['account.css'], intro, filter, refresh, children } = props;
  const { list, path, cursor = 'cursor', note } = props;
  return (
    <Page title={title} heading={null} styles={styles} wide>
      {create ? (
        <div class="row">
          <h1>{title}</h1>
          <a class="button primary push" href={create[0]}>
            {create[1]}
          </a>
        </div>
      ) : (
        <h1>{title}</h1>
      )}
      {lead && <p class="lead">{lead}</p>}
      {intro}
      {filter}
      {refresh ? (
        <div id={refresh.id} data-refresh={refresh.seconds ?? undefined}>
          {children}
        </div>
      ) : (
        children
      )}
      <MorePages list={list} path={path} cursor={cursor} />
      {note}
    </Page>
  );
}

/** A filter by state. */
export function StateChoice({ states }: { states: readonly string[] }): VNode {
  return (
    <Choice
      name="state"
      label="State"
      options={[['', 'All'], ...states.map((state) => [state, state] as const)]}
    />
  );
}

/** An address with a query. Absent and empty values are omitted. */
export function addressOf(path: string, query: Readonly<FormValues>): string {
  const given = Object.entries(query).filter((entry): entry is [string, string] => Boolean(entry[1]));
  return given.length > 0 ? `${path}?${new URLSearchParams(given)}` : path;
}

/** An optional field: browsers send an empty string for a field without a value. */
export function optional<Value>(schema: z.ZodType<Value>): z.ZodType<Value | undefined> {
  return z.preprocess((value) => (value === '' ? undefined : value), schema.optional());
}

/** A day of a filter. */
export const day = optional(
  z.iso.date('must be a date such as 2027-05-01').transform((text) => new Date(text)),
);

/** Reads the last day of a filter, which is included. */
export const lastDay = day.transform((at) => at && new Date(at.getTime() + DAY_MS));

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
      {begun && <SmallLink to={addressOf(path, filters)}>Newest</SmallLink>}
      {list.next !== null && (
        <SmallLink to={addressOf(path, { ...filters, [cursor]: list.next })}>Older</SmallLink>
      )}
    </nav>
  );
}
