import type { VNode } from 'preact';
import { z } from 'zod';

/** An address with a query, of which what is absent or empty is left out. */
export function addressOf(path: string, query: Readonly<Record<string, string | undefined>>): string {
  const given = Object.entries(query).filter((entry): entry is [string, string] => Boolean(entry[1]));
  return given.length > 0 ? `${path}?${new URLSearchParams(given)}` : path;
}

/** A field of a filter: a choice that was not made is sent as nothing. */
export function optional<Value>(schema: z.ZodType<Value>): z.ZodType<Value | undefined> {
  return z.preprocess((value) => (value === '' ? undefined : value), schema.optional());
}

/** Leads on through a list, and back to its beginning; nothing where all of it is seen. */
export function MorePages({
  path,
  query,
  next,
}: {
  path: string;
  /** What the page was asked for, with the `cursor` it began after. */
  query: Readonly<Record<string, string | undefined>>;
  next: string | null;
}): VNode | null {
  const { cursor, ...filters } = query;
  if (!cursor && next === null) return null;
  return (
    <nav class="pages" aria-label="Pages">
      {cursor && (
        <a class="button small" href={addressOf(path, filters)}>
          Newest
        </a>
      )}
      {next !== null && (
        <a class="button small" href={addressOf(path, { ...filters, cursor: next })}>
          Older
        </a>
      )}
    </nav>
  );
}
