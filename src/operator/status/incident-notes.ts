import type { Queryable } from '../../platform/db/pool.ts';

/** Adds a note of the operator to an incident. @returns false if there is no such incident. */
export async function addNote(
  database: Queryable,
  id: number,
  note: { at: string; text: string },
): Promise<boolean> {
  const { rowCount } = await database.query('update incidents set notes = notes || $2::jsonb where id = $1', [
    ...[id, JSON.stringify([note])],
  ]);
  return rowCount === 1;
}
