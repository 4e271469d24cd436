import type { ClientBase } from 'pg';
import { FIRST_TEST_ACCOUNT } from '../../accounts/authentication.ts';
import { NEWEST_SCREENS } from '../../brand-analytics/term-figures.ts';
import type { Database } from '../../platform/db/pool.ts';

/** The newest week of the site of a tracker with a screen, which $1 names the provider of, as SQL. */
const WITH_NEWEST = `from (${NEWEST_SCREENS}) n
  join trackers t on t.domain = n.site and t.screen is not null
  join schedules s on s.id = t.id and (s.account_id >= ${FIRST_TEST_ACCOUNT}) = n.is_test`;

/** Returns trackers whose screen has not run for the newest week of their site. Those with a batch under way come later. */
export async function dueScreens(database: Database, provider: string, limit: number): Promise<string[]> {
  const { rows } = await database.query<{ id: string }>({
    name: 'due-screens',
    text: `select t.id ${WITH_NEWEST}
      where (t.screen_week is null or t.screen_week < n.week) and not s.paused
        and not exists (select from batches b where b.schedule_id = t.id and b.finished_at is null)
      limit $2`,
    values: [provider, limit],
  });
  return rows.map(({ id }) => id);
}

/**
 * Marks the newest week as run for a tracker with a screen, in the transaction that creates the run.
 * @param again also if it has run already: on demand.
 * @returns the week; null if it has run, if no week is loaded, or if the tracker has no screen.
 */
export async function takeNewestWeek(
  client: ClientBase,
  provider: string,
  trackerId: string,
  again: boolean,
): Promise<string | null> {
  const { rows } = await client.query<{ week: string }>(
    `update trackers u set screen_week = greatest(u.screen_week, f.week)
     from (select t.id, n.week ${WITH_NEWEST} where t.id = $2) f
     where u.id = f.id and ($3 or u.screen_week is null or u.screen_week < f.week) returning f.week::text`,
    [provider, trackerId, again],
  );
  return rows[0]?.week ?? null;
}

/** Makes the next run of a changed screen its first one. Its states are deleted by the caller. */
export async function forgetScreen(client: ClientBase, trackerId: string): Promise<void> {
  await client.query('update trackers set screen_week = null where id = $1', [trackerId]);
}
