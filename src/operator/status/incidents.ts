import { overdueWeeks } from '../../brand-analytics/import/import-week.ts';
import { queuedOperation } from '../../operations/index.ts';
import { type PoolName, TEST_POOL } from '../../operations/pools.ts';
import type { Clock } from '../../platform/clock.ts';
import type { Database, Queryable } from '../../platform/db/pool.ts';
import { hasRow, unixMs } from '../../platform/db/rows.ts';
import type { ErrorKind } from '../../platform/errors.ts';
import type { Logger } from '../../platform/log.ts';
import type { CallEvent, StoringSink } from '../../platform/telemetry/call-events.ts';
import { writeBehind } from '../../platform/write-behind.ts';
import { OUR_FAILURES } from '../account-facts.ts';

/** The parts of the service that the status page shows, with their public names and what depends on them. */
export const COMPONENTS = {
  api: ['API', 'Every request'],
  'pool:market': ['Products', 'Calls for products, searches, sellers and deals'],
  'pool:lightning': ['Lightning deals', 'Calls for lightning deals'],
  'pool:storefront': ['Storefronts', 'Calls for storefronts'],
  'pool:graph': ['Price charts', 'Calls for chart images'],
  'pool:keywords': ['Keywords', 'Calls for keyword ranks'],
  'pool:trends': ['Search trends', 'Calls for search trends'],
  'pool:exports': ['Exports', 'Exports of whole weeks'],
  'pool:batch': ['Batches and schedules', 'Schedules, trackers and webhooks'],
  'upstream:products': ['Source of product data', 'Product data that is not cached'],
  'upstream:trends': ['Source of search trends', 'Search trends that are not cached'],
  'upstream:reports': ['Source of weekly reports', 'New weeks of keyword ranks'],
} as const satisfies Record<
  `${'pool' | 'upstream'}:${string}` | 'api',
  readonly [name: string, affects: string]
>;

export type ComponentId = keyof typeof COMPONENTS;

export const COMPONENT_IDS = Object.keys(COMPONENTS) as ComponentId[];

/** The source that the calls of a pool fetch from; null: the database of this service. */
const UPSTREAM_OF: Readonly<Record<Exclude<PoolName, typeof TEST_POOL>, ComponentId | null>> = {
  market: 'upstream:products',
  lightning: 'upstream:products',
  storefront: 'upstream:products',
  graph: 'upstream:products',
  keywords: null,
  trends: 'upstream:trends',
  exports: null,
};

export type Level = 'operational' | 'degraded' | 'outage';

interface Outcome {
  component: ComponentId;
  isGood: boolean;
}

const API_GOOD: readonly Outcome[] = [{ component: 'api', isGood: true }];
const API_BAD: readonly Outcome[] = [{ component: 'api', isGood: false }];
const NONE: readonly Outcome[] = [];

const UPSTREAM_FAILURES: readonly ErrorKind[] = ['UPSTREAM_ERROR', 'UPSTREAM_TIMEOUT'];
const API_FAILURES: readonly ErrorKind[] = ['INTERNAL', 'BUSY'];

/** What an event says about the components: errors that a customer causes count as good. */
export function outcomesOf(event: CallEvent): readonly Outcome[] {
  switch (event.type) {
    case 'call.started':
    case 'call.cached':
    case 'call.joined':
      return API_GOOD;
    case 'request.refused':
      // The status page has the incident without measurements.
      if (event.error === 'RECOVERING') return NONE;
      return API_FAILURES.includes(event.error) ? API_BAD : API_GOOD;
    // A failed call is counted once, when it is released: by a worker, or by the reconciler if no worker has run it.
    case 'job.ended':
      return isOurs(event.error) ? NONE : ofPool(event.operation, true);
    case 'call.released': {
      if (!isOurs(event.error)) return NONE;
      const isUpstreams = UPSTREAM_FAILURES.includes(event.error);
      return [...ofPool(event.operation, false), ...(isUpstreams ? ofUpstream(event.operation, false) : [])];
    }
    case 'source.miss':
      return ofUpstream(event.operation, true);
    default:
      return NONE;
  }
}

function isOurs(error: ErrorKind | null): boolean {
  return error !== null && OUR_FAILURES.includes(error);
}

function ofPool(operation: string, isGood: boolean): Outcome[] {
  const pool = poolOf(operation);
  return pool ? [{ component: `pool:${pool}`, isGood }] : [];
}

function ofUpstream(operation: string, isGood: boolean): Outcome[] {
  const pool = poolOf(operation);
  const component = pool && UPSTREAM_OF[pool];
  return component ? [{ component, isGood }] : [];
}

/** An operation of several pools counts for the last, which has no other operations. */
function poolOf(operation: string): Exclude<PoolName, typeof TEST_POOL> | undefined {
  const pool = queuedOperation(operation)?.pools.at(-1);
  return pool === TEST_POOL ? undefined : pool;
}

const MINUTE_MS = 60_000;

/** While PostgreSQL is down, the minutes of a day are kept. */
const MAX_PENDING = 1_440 * COMPONENT_IDS.length;

/** The outcomes of a component in a minute. */
interface MinuteSums {
  /** Unix milliseconds. */
  minute: number;
  component: ComponentId;
  good: number;
  bad: number;
}

/**
 * Counts good and bad outcomes by component and minute in memory, and adds them to PostgreSQL every ten seconds. Sums that
 * cannot be written are kept, so that a failure of PostgreSQL is measured as well.
 */
export function createStatusMinutes(database: Database, clock: Clock, log: Logger): StoringSink {
  const sums = writeBehind<string, MinuteSums>(clock, log, {
    what: 'the minutes of the status page',
    everyMs: 10_000,
    most: MAX_PENDING,
    merge: (a, b) => ({ ...a, good: a.good + b.good, bad: a.bad + b.bad }),
    write: (written) => addMinutes(database, [...written.values()]),
  });
  return {
    onEvent(event) {
      const minute = Math.floor(clock.now() / MINUTE_MS) * MINUTE_MS;
      for (const { component, isGood } of outcomesOf(event))
        sums.add(`${minute}/${component}`, { minute, component, good: isGood ? 1 : 0, bad: isGood ? 0 : 1 });
    },
    close: sums.close,
  };
}

/** Adds sums to the minutes. */
async function addMinutes(database: Queryable, sums: readonly MinuteSums[]): Promise<void> {
  // All processes write in the same order, so that they cannot deadlock.
  const rows = [...sums].sort((a, b) => a.minute - b.minute || (a.component < b.component ? -1 : 1));
  await database.query(
    `insert into status_minutes as m (minute, component, good, bad)
     select * from unnest($1::timestamptz[], $2::text[], $3::integer[], $4::integer[])
     on conflict (minute, component) do update set good = m.good + excluded.good, bad = m.bad + excluded.bad`,
    [
      rows.map(({ minute }) => new Date(minute)),
      ...(['component', 'good', 'bad'] as const).map((field) => rows.map((row) => row[field])),
    ],
  );
}

/** The outcomes of one component in a minute that had any. */
interface Minute {
  /** Unix milliseconds of its start. */
  minute: number;
  good: number;
  bad: number;
}

export interface FoundIncident {
  /** Unix milliseconds. */
  startedAt: number;
  /** null: it has not ended. */
  endedAt: number | null;
  /** The worst level. */
  level: Exclude<Level, 'operational'>;
  /** The level in the last minutes. */
  levelNow: Level;
}

/** The rules of incidents. Sums are those of the last `windowMinutes`. */
export const INCIDENT_RULES = {
  windowMinutes: 5,
  /** An incident begins with this many failures, if they are this share of all outcomes. */
  leastFailures: 5,
  degradedShare: 0.1,
  outageShare: 0.5,
  /** An incident goes on while this share fails, and ends after this many minutes without. */
  continuedShare: 0.05,
  quietMinutes: 10,
} as const;

/**
 * Finds the incidents of a component. An incident needs more failures to begin than to go on, so that a share of failures near
 * the limit makes one incident and not many.
 * @param minutes in the order of time. @param period [from, to) in Unix milliseconds, whole minutes.
 * @param open the incident that had begun before the period and had not ended.
 */
export function findIncidents(
  minutes: readonly Minute[],
  { from, to }: { from: number; to: number },
  open: FoundIncident | null = null,
): FoundIncident[] {
  const { windowMinutes, quietMinutes } = INCIDENT_RULES;
  const byMinute = new Map(minutes.map((one) => [one.minute, one]));
  const found: FoundIncident[] = [];
  let present = open && { ...open, endedAt: null };
  let lastFailure = from;
  for (let at = from; at < to; at += MINUTE_MS) {
    const window = windowUntil(byMinute, at, windowMinutes);
    if ((byMinute.get(at)?.bad ?? 0) > 0 && (!present || isContinued(window))) lastFailure = at + MINUTE_MS;
    const level = levelOf(window);
    if (present) {
      present.levelNow = level;
      if (level === 'outage') present.level = 'outage';
      if (at + MINUTE_MS - lastFailure < quietMinutes * MINUTE_MS) continue;
      found.push({ ...present, endedAt: lastFailure, levelNow: 'operational' });
      present = null;
    } else if (level !== 'operational') {
      present = { startedAt: window.firstFailure ?? at, endedAt: null, level, levelNow: level };
    }
  }
  return present ? [...found, present] : found;
}

interface Window {
  good: number;
  bad: number;
  /** The start of its first minute with a failure. */
  firstFailure: number | null;
}

function windowUntil(byMinute: ReadonlyMap<number, Minute>, last: number, minutes: number): Window {
  const window: Window = { good: 0, bad: 0, firstFailure: null };
  for (let at = last - (minutes - 1) * MINUTE_MS; at <= last; at += MINUTE_MS) {
    const { good, bad } = byMinute.get(at) ?? { good: 0, bad: 0 };
    window.good += good;
    window.bad += bad;
    if (bad > 0) window.firstFailure ??= at;
  }
  return window;
}

function levelOf({ good, bad }: Window): Level {
  const { leastFailures, degradedShare, outageShare } = INCIDENT_RULES;
  const share = bad / (good + bad);
  if (bad < leastFailures || share < degradedShare) return 'operational';
  return share < outageShare ? 'degraded' : 'outage';
}

function isContinued({ good, bad }: Window): boolean {
  return bad / (good + bad) >= INCIDENT_RULES.continuedShare;
}

/** Adds a note of the operator to an incident. @returns false if there is no such incident. */
export async function addNote(
  database: Queryable,
  id: number,
  note: { at: string; text: string },
): Promise<boolean> {
  const { rowCount } = await database.query('update incidents set notes = notes || $2::jsonb where id = $1', [
    id,
    JSON.stringify([note]),
  ]);
  return rowCount === 1;
}

/** The lease of the process that records incidents, which says when they were recorded last. */
export const STATUS_LEASE = 'status';

/** Minutes that are written late, after an outage of PostgreSQL, can still change the incidents of this period. */
const EXAMINED_MS = 86_400_000;

/** A schedule that is due for longer than this counts as failed. */
const LATE_MS = 5 * MINUTE_MS;

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
     from incidents where started_at < $1 and (ended_at is null or ended_at > $1) and not is_recovery`,
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
       set ended_at = excluded.ended_at, level = excluded.level, level_now = excluded.level_now
       where not incidents.is_recovery`,
    [JSON.stringify(rows), new Date(from)],
  );
}

/** The outcomes of this minute for components whose work is in PostgreSQL. */
async function backgroundOutcomes(database: Database, now: number): Promise<MinuteSums[]> {
  const late = await hasRow(database, 'select from schedules where next_due_at < $1 limit 1', [
    new Date(now - LATE_MS),
  ]);
  const failed = (await overdueWeeks(database, now)).length > 0;
  const minute = Math.floor(now / MINUTE_MS) * MINUTE_MS;
  return [
    { minute, component: 'pool:batch', good: late ? 0 : 1, bad: late ? 1 : 0 },
    // A missing week degrades the source: the weeks before it are there.
    { minute, component: 'upstream:reports', good: failed ? 4 : 5, bad: failed ? 1 : 0 },
  ];
}
