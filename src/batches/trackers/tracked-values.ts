import { z } from 'zod';
import { SCHEMA_NAMES } from '../../operations/answers.ts';
import type { Queryable } from '../../platform/db/pool.ts';
import type { ConditionState } from './check.ts';
import { conditionKey, conditionSchema, isAboutKeywords } from './condition.ts';
import type { Tracker } from './tracker.ts';

/** The most products or keywords whose values are shown with a tracker. */
const MOST_SHOWN = 100;

/** What the last check has found about a condition of a product or keyword. */
export const trackedValueSchema = z
  .object({
    asin: z.string().nullable(),
    wordId: z.int().nullable(),
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

export type TrackedValue = z.output<typeof trackedValueSchema>;

/** Returns the values of the last check, of the first products or keywords of a tracker. */
export async function trackedValues(
  database: Queryable,
  { scheduleId, conditions }: Tracker,
): Promise<TrackedValue[]> {
  // A screen has states of other kinds.
  if (conditions.length === 0) return [];
  const { rows } = await database.query<{ item: string; states: Record<string, ConditionState> }>(
    `select item, states from tracker_states where tracker_id = $1 order by item limit ${MOST_SHOWN}`,
    [scheduleId],
  );
  return rows.flatMap(({ item, states }) =>
    conditions.flatMap((condition) => {
      const state = states[conditionKey(condition)];
      if (!state) return [];
      const { value, isMet } = state;
      const bound = condition.type === 'price_drop' ? undefined : condition.value;
      const isKeyword = isAboutKeywords(condition);
      return [
        {
          asin: isKeyword ? null : item,
          wordId: isKeyword ? Number(item) : null,
          condition,
          value,
          distance: typeof value === 'number' && bound !== undefined ? value - bound : null,
          isMet,
        },
      ];
    }),
  );
}
