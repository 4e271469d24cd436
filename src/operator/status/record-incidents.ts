import { unixMs } from '../../platform/db/columns.ts';
import type { Database } from '../../platform/db/pool.ts';
import { COMPONENT_IDS, type ComponentId } from './components.ts';
import { type FoundIncident, findIncidents, type Minute } from './find-incidents.ts';
import { addMinutes, type MinuteSums } from './status-minutes.ts';

/** The lease of the process that records incidents, which says when they were recorded last. */
export const STATUS_LEASE = 'status';

const MINUTE_MS = 60_000;

/** Minutes that are written late, after an outage of PostgreSQL, can still change the incidents of this period. */
const EXAMINED_MS = 86_400_000;

/** A schedule that is due for longer than this counts as failed. */
const LATE_MS = 5 * MINUTE_MS;

/** A weekly report counts as failed after this many attempts, because the provider often is late by some hours. */
const FAILED_ATTEMPTS = 12;

interface ComponentMinute extends Minute {
  component: ComponentId;
}

interface ComponentIncident extends FoundIncident {
  component: ComponentId;
}

/** Measures the components without calls, finds the incidents of the last day in the minutes, and stores them. */
export async function recordIncidents(database: Database, now: number): Promise<void> {
  await addMinutes(database, await backgroundOutcomes(database, now));
  const to = Math.floor(now / MINUTE_MS) * MINUTE_MS + MINUTE_MS;
  const period = { from: to - EXAMINED_MS, to };
  const { rows: minutes } = await database.query<ComponentMinute>(
    `select component, ${unixMs('minute')} as minute, good, bad from status_minutes where minute >= $1 order by minute`,
    [new Date(period.from)],
  );
  const { rows: begun } = await database.query<ComponentIncident>(
    `select component, ${unixMs('started_at')} as "startedAt", null as "endedAt", level, level_now as "levelNow"
     from incidents where started_at < $1 and (ended_at is null or ended_at > $1)`,
    [new Date(period.from)],
  );
  const found = COMPONENT_IDS.flatMap((component) => {
    const open = begun.find((one) => one.component === component);
    const own = minutes.filter((one) => one.component === component);
    return findIncidents(own, period, open).map((incident) => ({ ...incident, component }));
  });
  await store(database, found, period.from);
}

/** Stores incidents, and deletes those that late minutes have merged with others. */
async function store(database: Database, found: readonly ComponentIncident[], from: number): Promise<void> {
  const rows = found.map(({ startedAt, endedAt, ...rest }) => ({
    ...rest,
    started_at: new Date(startedAt),
    ended_at: endedAt === null ? null : new Date(endedAt),
  }));
  await database.query(
    `with found as (
       select * from jsonb_to_recordset($1) as f (component text, started_at timestamptz, ended_at timestamptz,
         level text, "levelNow" text)
     ), merged as (
       delete from incidents i where started_at >= $2 and notes = '[]'
         and not exists (select from found f where f.component = i.component and f.started_at = i.started_at)
     )
     insert into incidents (component, started_at, ended_at, level, level_now)
     select component, started_at, ended_at, level, "levelNow" from found
     on conflict (component, started_at) do update
       set ended_at = excluded.ended_at, level = excluded.level, level_now = excluded.level_now`,
    [JSON.stringify(rows), new Date(from)],
  );
}

/** The outcomes of this minute for components whose work is in PostgreSQL. */
async function backgroundOutcomes(database: Database, now: number): Promise<MinuteSums[]> {
  const { rows } = await database.query<{ late: boolean; failed: boolean }>(
    `select exists (select from schedules where next_due_at < $1) as late,
       exists (select from aba_fetches where attempts >= $2) as failed`,
    [new Date(now - LATE_MS), FAILED_ATTEMPTS],
  );
  const { late = false, failed = false } = rows[0] ?? {};
  const minute = Math.floor(now / MINUTE_MS) * MINUTE_MS;
  return [
    { minute, component: 'pool:batch', good: late ? 0 : 1, bad: late ? 1 : 0 },
    // A missing week degrades the source: the weeks before it are there.
    { minute, component: 'upstream:reports', good: failed ? 4 : 5, bad: failed ? 1 : 0 },
  ];
}
