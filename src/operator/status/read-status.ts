import type { Queryable } from '../../platform/db/pool.ts';
import { unixMs } from '../../platform/db/rows.ts';
import { type Polled, polled } from '../../platform/polled.ts';
import type { Stores } from '../../platform/stores.ts';
import { COMPONENT_IDS, COMPONENTS, type ComponentId, type Level, STATUS_LEASE } from './incidents.ts';

const STATUS_DAYS = 90;

const DAY_MS = 86_400_000;
const MINUTE_MS = 60_000;

/** An incident of the status page. */
export interface Incident {
  id: number;
  component: ComponentId;
  /** Unix milliseconds. */
  startedAt: number;
  endedAt: number | null;
  level: Exclude<Level, 'operational'>;
  levelNow: Level;
  notes: { at: string; text: string }[];
}

/** What PostgreSQL knows of the status. */
export interface StatusFacts {
  /** The newest first. */
  incidents: Incident[];
  /** When incidents were recorded last; null: never. */
  measuredAt: number | null;
  /** The first hour or minute with calls; null: none. */
  since: number | null;
}

export interface StatusDay {
  /** YYYY-MM-DD, in UTC. */
  day: string;
  /** null: nothing was measured yet. */
  level: Level | null;
  /** Minutes of degraded service and of outage. */
  degradedMinutes: number;
  outageMinutes: number;
}

export interface ComponentStatus {
  id: ComponentId;
  name: string;
  affects: string;
  level: Level;
  /** The share of time without an outage; null: nothing was measured yet. */
  uptime: number | null;
  days: StatusDay[];
}

/** Reads the incidents of the last days. */
export async function readStatus(database: Queryable, now: number): Promise<StatusFacts> {
  const { rows: incidents } = await database.query<Incident>(
    `select id, component, ${unixMs('started_at')} as "startedAt", ${unixMs('ended_at')} as "endedAt", level,
       level_now as "levelNow", notes
     from incidents where ended_at is null or ended_at > $1 order by started_at desc, component`,
    [new Date(now - STATUS_DAYS * DAY_MS)],
  );
  const { rows } = await database.query<{ measuredAt: number | null; since: number | null }>(
    `select (select ${unixMs('until')} from leases where name = $1) as "measuredAt",
       least((select ${unixMs('min(hour)')} from operation_hours),
         (select ${unixMs('min(minute)')} from status_minutes)) as since`,
    [STATUS_LEASE],
  );
  const { measuredAt = null, since = null } = rows[0] ?? {};
  // The lease ends up to a minute after the measurement.
  return { incidents, measuredAt: measuredAt === null ? null : Math.min(measuredAt, now), since };
}

/** The state of each component, with its days up to the present one. */
export function componentsOf({ incidents, since }: StatusFacts, now: number): ComponentStatus[] {
  return COMPONENT_IDS.map((id) => {
    const own = incidents.filter(({ component }) => component === id);
    const [name, affects] = COMPONENTS[id];
    const open = own.find(({ endedAt }) => endedAt === null);
    const days = daysOf(own, since, now);
    // An incident goes on for some minutes after its last failure.
    const level = open ? (open.levelNow === 'operational' ? 'degraded' : open.levelNow) : 'operational';
    return { id, name, affects, level, uptime: uptimeOf(days, since, now), days };
  });
}

/** The last days, the oldest first, with the minutes of the incidents in them. */
export function daysOf(incidents: readonly Incident[], since: number | null, now: number): StatusDay[] {
  const today = Math.floor(now / DAY_MS) * DAY_MS;
  return Array.from({ length: STATUS_DAYS }, (_, i) => {
    const from = today - (STATUS_DAYS - 1 - i) * DAY_MS;
    const to = Math.min(from + DAY_MS, now);
    const minutes = (level: Level) =>
      incidents
        .filter((incident) => incident.level === level)
        .reduce((sum, { startedAt, endedAt }) => sum + overlap(from, to, startedAt, endedAt ?? now), 0) /
      MINUTE_MS;
    const [degradedMinutes, outageMinutes] = [Math.round(minutes('degraded')), Math.round(minutes('outage'))];
    const isMeasured = (since !== null && to > since) || degradedMinutes + outageMinutes > 0;
    const worst = outageMinutes > 0 ? 'outage' : degradedMinutes > 0 ? 'degraded' : 'operational';
    return { day: dayOf(from), level: isMeasured ? worst : null, degradedMinutes, outageMinutes };
  });
}

function uptimeOf(days: readonly StatusDay[], since: number | null, now: number): number | null {
  if (since === null) return null;
  const first = Math.max(since, Math.floor(now / DAY_MS) * DAY_MS - (STATUS_DAYS - 1) * DAY_MS);
  const minutes = Math.max(1, (now - first) / MINUTE_MS);
  const lost = days.reduce((sum, { outageMinutes }) => sum + outageMinutes, 0);
  return Math.max(0, 1 - lost / minutes);
}

function overlap(from: number, to: number, start: number, end: number): number {
  return Math.max(0, Math.min(to, end) - Math.max(from, start));
}

const dayOf = (at: number) => new Date(at).toISOString().slice(0, 10);

const READ_EVERY_MS = 15_000;

/** Facts that are older than this are the last known ones. */
const STALE_MS = 90_000;

/** Measurements are missing if workers have not recorded any for this long. */
const UNMEASURED_MS = 5 * 60_000;

export interface Status {
  level: Level;
  /** Unix milliseconds of the last measurement; null: none yet. */
  measuredAt: number | null;
  /** The measurements are too old to describe the present. */
  isLastKnown: boolean;
  components: ComponentStatus[];
  /** The newest first. */
  incidents: Incident[];
}

const NOTHING: StatusFacts = { incidents: [], measuredAt: null, since: null };

/** Reads the facts of the status page for this gateway, so that visitors cause no queries. */
export function createStatusBoard(deps: Pick<Stores, 'database' | 'clock' | 'log'>): Polled<StatusFacts> {
  const { database, clock } = deps;
  const options = { name: 'status', everyMs: READ_EVERY_MS, initial: NOTHING };
  return polled(deps, options, () => readStatus(database, clock.now()));
}

/** The status from facts that were read at `readAt`. While PostgreSQL is down no call is admitted, so the API is out. */
export function statusOf(facts: StatusFacts, readAt: number | null, now: number): Status {
  const { measuredAt, incidents } = facts;
  const isDown = readAt === null || now - readAt > STALE_MS;
  const components = componentsOf(facts, now).map((one) =>
    isDown && one.id === 'api' ? { ...one, level: 'outage' as const } : one,
  );
  const isLastKnown = isDown || measuredAt === null || now - measuredAt > UNMEASURED_MS;
  return { level: worstOf(components), measuredAt, isLastKnown, components, incidents };
}

function worstOf(components: readonly ComponentStatus[]): Level {
  const levels = new Set(components.map(({ level }) => level));
  return levels.has('outage') ? 'outage' : levels.has('degraded') ? 'degraded' : 'operational';
}
