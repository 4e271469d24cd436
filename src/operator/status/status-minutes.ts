import { type Clock, every } from '../../platform/clock.ts';
import type { Database, Queryable } from '../../platform/db/pool.ts';
import type { Logger } from '../../platform/log.ts';
import type { StoringSink } from '../../platform/telemetry/call-events.ts';
import type { ComponentId } from './components.ts';
import { outcomesOf } from './outcomes.ts';

const WRITE_EVERY_MS = 10_000;
const MINUTE_MS = 60_000;

/** The most minutes that are kept while PostgreSQL is away. */
const MAX_PENDING_MINUTES = 1_440;

/** The outcomes of a component in a minute. */
export interface MinuteSums {
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
  let pending: Pending = new Map();

  async function write(): Promise<void> {
    if (pending.size === 0) return;
    const written = pending;
    pending = new Map();
    try {
      await addMinutes(database, sumsOf(written));
    } catch (error) {
      log.debug({ err: error }, 'failed to write the minutes of the status page, will retry');
      for (const { minute, component, good, bad } of sumsOf(written))
        add(pending, minute, component, good, bad);
    }
  }

  const stop = every(clock, WRITE_EVERY_MS, write);
  return {
    onEvent(event) {
      const outcomes = outcomesOf(event);
      if (outcomes.length === 0) return;
      const minute = Math.floor(clock.now() / MINUTE_MS) * MINUTE_MS;
      for (const { component, isGood } of outcomes)
        add(pending, minute, component, isGood ? 1 : 0, isGood ? 0 : 1);
    },
    async close() {
      await stop();
      await write();
    },
  };
}

/** Sums by minute and component. */
type Pending = Map<number, Map<ComponentId, { good: number; bad: number }>>;

function add(pending: Pending, minute: number, component: ComponentId, good: number, bad: number): void {
  let ofMinute = pending.get(minute);
  if (!ofMinute) {
    if (pending.size >= MAX_PENDING_MINUTES) return;
    ofMinute = new Map();
    pending.set(minute, ofMinute);
  }
  const sums = ofMinute.get(component);
  if (sums) {
    sums.good += good;
    sums.bad += bad;
  } else ofMinute.set(component, { good, bad });
}

function sumsOf(pending: Pending): MinuteSums[] {
  return [...pending].flatMap(([minute, ofMinute]) =>
    [...ofMinute].map(([component, sums]) => ({ minute, component, ...sums })),
  );
}

/** Adds sums to the minutes. */
export async function addMinutes(database: Queryable, sums: readonly MinuteSums[]): Promise<void> {
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
