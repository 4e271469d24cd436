import type { Database } from '../platform/db/pool.ts';
import type { OffPeakWindow } from './wallets.ts';

/** Whether the off-peak window is open at an instant, and when it opens next (Unix milliseconds). */
export async function offPeakOpening(
  database: Database,
  { start, end, timezone }: OffPeakWindow,
  now: number,
): Promise<{ isOpen: boolean; opensAt: number }> {
  const { rows } = await database.query<{ is_open: boolean; opens_at: Date }>({
    name: 'off-peak-opening',
    text: `select souk_in_window($1, $2, $3, $4) as is_open, souk_next_window_start($1, $2, $3, $4) as opens_at`,
    values: [new Date(now), start, end, timezone],
  });
  const [row] = rows;
  return { isOpen: row?.is_open ?? false, opensAt: row?.opens_at?.getTime() ?? now };
}
