import { z } from 'zod';
import { SCHEMA_NAMES } from '../../operations/answers.ts';

/** Creates the schema of a page of a list. @param name of the schema. */
export function pageOf(name: string, field: string, entry: z.ZodType): z.ZodObject {
  const shape = {
    [field]: z.array(entry),
    nextCursor: z.string().nullable().describe('Cursor of the next page; null on the last page'),
  };
  return z.object(shape).register(SCHEMA_NAMES, { id: name });
}

/**
 * Returns a page of entries. The entries include one more than the page size if there is a next page. `nextCursor` is null for
 * the last page.
 */
export function cutPage<Entry>(
  found: readonly Entry[],
  limit: number,
  cursorOf: (entry: Entry) => string,
): { entries: readonly Entry[]; nextCursor: string | null } {
  const entries = found.slice(0, limit);
  const last = found.length > limit ? entries.at(-1) : undefined;
  return { entries, nextCursor: last === undefined ? null : cursorOf(last) };
}
