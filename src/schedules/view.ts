import type { FeedWindow } from '../batches/request.ts';
import { nextRuns } from './cron.ts';
import type { Run } from './run.ts';
import type { Schedule } from './schedule.ts';

/** A schedule as its account sees it. Times are ISO 8601. */
export interface ScheduleView {
  scheduleId: string;
  name: string;
  cron: string;
  timezone: string;
  paused: boolean;
  /** When it is due next; empty while it is paused. */
  nextRuns: string[];
  window: FeedWindow;
  onlyChanges: boolean;
  runHours: number;
  webhook: string | null;
  maxUnits: number | null;
  operation: string;
  items: number;
  /** What a run costs at most. */
  units: number;
  createdAt: string;
  updatedAt: string;
  links: { self: string; runs: string; run: string };
}

const RUNS_SHOWN = 5;

export function scheduleView(schedule: Schedule, now: number): ScheduleView {
  const self = `/api/schedules/${schedule.scheduleId}`;
  const { name, cron, timezone, paused, window, onlyChanges, runHours, webhook, maxUnits, operation } =
    schedule;
  return {
    scheduleId: schedule.scheduleId,
    ...{ name, cron, timezone, paused },
    nextRuns: paused ? [] : nextRuns(schedule, now, RUNS_SHOWN).map(iso),
    ...{ window, onlyChanges, runHours, webhook, maxUnits, operation },
    items: schedule.itemCount,
    units: schedule.unitsQuoted,
    createdAt: iso(schedule.createdAt),
    updatedAt: iso(schedule.updatedAt),
    links: { self, runs: `${self}/runs`, run: `${self}/run` },
  };
}

export interface RunView {
  runId: string;
  dueAt: string;
  startedAt: string;
  /** tick: when it was due; missed: late, because nothing ran then; manual: when somebody wanted it. */
  trigger: Run['trigger'];
  state: Run['state'];
  reason: string | null;
  batchId: string | null;
  links: { batch: string | null };
}

export function runView({ runId, dueAt, startedAt, trigger, state, reason, batchId }: Run): RunView {
  return {
    runId,
    dueAt: iso(dueAt),
    startedAt: iso(startedAt),
    ...{ trigger, state, reason, batchId },
    links: { batch: batchId && `/api/batches/${batchId}` },
  };
}

function iso(unixMs: number): string {
  return new Date(unixMs).toISOString();
}
