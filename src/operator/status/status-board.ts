import type { Clock } from '../../platform/clock.ts';
import type { Database } from '../../platform/db/pool.ts';
import type { Logger } from '../../platform/log.ts';
import { type Polled, polled } from '../../platform/polled.ts';
import type { Level } from './components.ts';
import {
  type ComponentStatus,
  componentsOf,
  type Incident,
  readStatus,
  type StatusFacts,
} from './read-status.ts';

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
export function createStatusBoard(deps: {
  database: Database;
  clock: Clock;
  log: Logger;
}): Polled<StatusFacts> {
  const { database, clock } = deps;
  const options = { name: 'status', everyMs: READ_EVERY_MS, initial: NOTHING };
  return polled(deps, options, () => readStatus(database, clock.now()));
}

/** The status from facts that were read at `readAt`. While PostgreSQL is away no call is admitted, so the API is out. */
export function statusOf(facts: StatusFacts, readAt: number | null, now: number): Status {
  const { measuredAt, incidents } = facts;
  const isAway = readAt === null || now - readAt > STALE_MS;
  const components = componentsOf(facts, now).map((one) =>
    isAway && one.id === 'api' ? { ...one, level: 'outage' as const } : one,
  );
  const isLastKnown = isAway || measuredAt === null || now - measuredAt > UNMEASURED_MS;
  return { level: worstOf(components), measuredAt, isLastKnown, components, incidents };
}

function worstOf(components: readonly ComponentStatus[]): Level {
  const levels = new Set(components.map(({ level }) => level));
  return levels.has('outage') ? 'outage' : levels.has('degraded') ? 'degraded' : 'operational';
}
