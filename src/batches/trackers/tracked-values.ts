import { z } from 'zod';
import { SCHEMA_NAMES } from '../../operations/answers.ts';
import { iso } from '../../platform/clock.ts';
import type { Queryable } from '../../platform/db/pool.ts';
import { unixMs } from '../../platform/db/rows.ts';
import type { KeptState } from './check.ts';
import { type Condition, conditionKey, conditionSchema, isAboutKeywords } from './condition.ts';
import type { Tracker } from './tracker.ts';

/** The most products or keywords whose values are shown with a tracker. */
const MOST_SHOWN = 100;

/** What the last check has found about a condition of a product or keyword. */
export const trackedValueSchema = z
  .object({
    asin: z.string().nullable(),
    wordId: z.int().nullable(),
    title: z
      .string()
      .nullable()
      .describe('Title of the product, or the keyword; null: no check has found it yet'),
    condition: conditionSchema,
    value: z
      .union([z.number(), z.string()])
      .nullable()
      .describe('In the unit of the condition; null: none, or out of stock'),
    distance: z
      .number()
      .nullable()
      .describe('value - the bound of the condition; null without a fixed bound'),
    isMet: z.boolean(),
  })
  .register(SCHEMA_NAMES, { id: 'TrackedValue' });

/** The same in a list of several trackers, with the last changes of the value. */
export const listedValueSchema = trackedValueSchema
  .extend({
    trackerId: z.uuid(),
    trackerName: z.string(),
    domain: z.int().describe('Site'),
    nextCheck: z.iso.datetime().nullable().describe('null while the tracker is paused'),
    image: z.string().nullable().describe('File name of the main picture of the product; null: unknown'),
    changes: z
      .array(z.object({ at: z.iso.datetime(), value: z.number().nullable() }))
      .describe('The last 30 changes of the value, oldest first; empty for a seller'),
  })
  .register(SCHEMA_NAMES, { id: 'ListedTrackedValue' });

export type ListedValue = z.output<typeof listedValueSchema>;

interface StateRow {
  item: string;
  states: Record<string, KeptState>;
  title: string | null;
}

/** Returns the values of the last check, of the first products or keywords of a tracker. */
export async function trackedValues(
  database: Queryable,
  { scheduleId, conditions }: Tracker,
): Promise<z.output<typeof trackedValueSchema>[]> {
  // A screen has states of other kinds.
  if (conditions.length === 0) return [];
  const { rows } = await database.query<StateRow>(
    `select item, states, title from tracker_states where tracker_id = $1 order by item limit ${MOST_SHOWN}`,
    [scheduleId],
  );
  return rows.flatMap((row) => valuesOf(row, conditions).map(({ value }) => value));
}

/** A product or keyword in a list of several trackers, with its values. */
export interface ListedItem {
  trackerId: string;
  item: string;
  values: ListedValue[];
}

/** Lists the products and keywords that the trackers of an account have checked: newest tracker first, then by ASIN or id. */
export async function listTrackedItems(
  database: Queryable,
  accountId: number,
  filter: {
    /** Only trackers with these operations; null: all. */
    operations: readonly string[] | null;
    trackerId: string | null;
    /** The last entry of the previous page. */
    after: { trackerId: string; item: string } | null;
    limit: number;
  },
): Promise<ListedItem[]> {
  const { operations, trackerId: only, after, limit } = filter;
  const { rows } = await database.query<
    StateRow &
      Pick<ListedValue, 'trackerId' | 'trackerName' | 'domain' | 'image'> & {
        conditions: Condition[];
        nextDueAt: number | null;
      }
  >(
    `select s.id as "trackerId", s.name as "trackerName", t.domain, t.conditions, v.item, v.states, v.title, v.image,
       ${unixMs('s.next_due_at')} as "nextDueAt"
     from schedules s join trackers t using (id) join tracker_states v on v.tracker_id = s.id
     where s.account_id = $1 and t.screen is null and ($2::text[] is null or s.operation = any($2))
       and ($3::uuid is null or s.id = $3) and ($4::uuid is null or s.id < $4 or s.id = $4 and v.item > $5)
     order by s.id desc, v.item limit $6`,
    [accountId, operations, only, after?.trackerId ?? null, after?.item ?? null, limit],
  );
  return rows.map(({ nextDueAt, conditions, trackerId, trackerName, domain, image, ...row }) => ({
    trackerId,
    item: row.item,
    values: valuesOf(row, conditions).map(({ value, changes = [] }) => ({
      ...value,
      ...{ trackerId, trackerName, domain, image },
      nextCheck: nextDueAt === null ? null : iso(nextDueAt),
      changes: changes.map(([at, one]) => ({ at: iso(at), value: one })),
    })),
  }));
}

/** Returns what is known about each condition of a product or keyword. */
function valuesOf({ item, states, title }: StateRow, conditions: readonly Condition[]) {
  return conditions.flatMap((condition) => {
    const state = states[conditionKey(condition)];
    if (!state) return [];
    const { value, isMet, changes } = state;
    const bound = condition.type === 'price_drop' ? undefined : condition.value;
    const isKeyword = isAboutKeywords(condition);
    const distance = typeof value === 'number' && bound !== undefined ? value - bound : null;
    const about = isKeyword ? { asin: null, wordId: Number(item) } : { asin: item, wordId: null };
    return [{ value: { ...about, title, condition, value, distance, isMet }, changes }];
  });
}
