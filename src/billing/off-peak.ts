import { unixMs } from '../platform/db/columns.ts';
import type { Queryable } from '../platform/db/pool.ts';
import type { OffPeakWindow } from './wallets.ts';

/** Returns whether the off-peak window is open at an instant, and when it opens next (Unix milliseconds). */
export async function offPeakOpening(
  database: Queryable,
  { start, end, timezone }: OffPeakWindow,
  now: number,
): Promise<{ isOpen: boolean; opensAt: number }> {
  const { rows } = await database.query<{ isOpen: boolean; opensAt: number | null }>({
    name: 'off-peak-opening',
    text: `select souk_in_window($1, $2, $3, $4) as "isOpen",
      ${unixMs('souk_next_window_start($1, $2, $3, $4)')} as "opensAt"`,
    values: [new Date(now), start, end, timezone],
  });
  return { isOpen: rows[0]?.isOpen ?? false, opensAt: rows[0]?.opensAt ?? now };
}
