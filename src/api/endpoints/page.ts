import { z } from 'zod';
import { SCHEMA_NAMES } from '../../operations/answers/schema-names.ts';

/** Schema of a page of a list, the newest first. @param name of the schema. */
export function pageOf(name: string, field: string, entry: z.ZodType): z.ZodObject {
  const shape = {
    [field]: z.array(entry),
    nextCursor: z.string().nullable().describe('The cursor of the next page; null: this is the last'),
  };
  return z.object(shape).register(SCHEMA_NAMES, { id: name });
}

/** The cursor of the page after this one; null where this one is not full. */
export function nextCursor<Entry>(
  page: readonly Entry[],
  limit: number,
  idOf: (entry: Entry) => string,
): string | null {
  const last = page.length === limit ? page.at(-1) : undefined;
  return last === undefined ? null : idOf(last);
}
