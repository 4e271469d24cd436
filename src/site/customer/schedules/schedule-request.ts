import { cronProblem, nextRuns } from '../../../batches/schedules/cron.ts';
import { isTimeZone } from '../../../platform/time-zone.ts';
import { type FormFaults, type FormValues, readForm } from '../../kit/form.tsx';
import { readWork, type Work } from '../work/work.ts';
import { type ScheduleCheck, scheduleForm } from './schedule-form.tsx';

/** How many runs to come are shown. */
const RUNS_SHOWN = 5;

/** A schedule as the interface takes it, or what keeps it from being one. */
export type ScheduleRead =
  | { ok: true; values: FormValues; body: Record<string, unknown> }
  | { ok: false; values: FormValues; faults: FormFaults };

/** Reads a form. @param changing items that are left empty stay as they are. */
export function readScheduleForm(body: unknown, changing: boolean): ScheduleRead {
  const form = readForm(scheduleForm, body);
  const { values } = form;
  const keepsWork = changing && !values.items?.trim();
  const read = keepsWork ? null : readWork(values);
  const faults = { ...(form.ok ? {} : form.faults), ...(read?.ok === false ? read.faults : {}) };
  if (!form.ok || read?.ok === false) return { ok: false, values, faults };
  const { maxUnits, webhook, onlyChanges, runHours, window, ...rest } = form.input;
  return {
    ok: true,
    values,
    body: {
      ...rest,
      onlyChanges: onlyChanges === 'true',
      ...(window ? { window } : {}),
      ...(runHours === undefined ? {} : { runHours }),
      ...(read?.ok ? { batch: batchOf(read.work, maxUnits, webhook) } : {}),
    },
  };
}

function batchOf(work: Work, maxUnits: number | undefined, webhook: string): Record<string, unknown> {
  return {
    ...work,
    ...(maxUnits === undefined ? {} : { maxUnits }),
    ...(webhook === '' ? {} : { webhook }),
  };
}

/** The runs to come of what was filled in, whatever else is wrong with it; null where its times cannot be. */
export function runsToCome(
  { cron = '', timezone }: FormValues,
  now: number,
): ScheduleCheck['nextRuns'] | null {
  const timing = { cron: cron.trim(), timezone: timezone?.trim() || 'UTC' };
  if (!isTimeZone(timing.timezone) || cronProblem(timing, now) !== null) return null;
  return nextRuns(timing, now, RUNS_SHOWN);
}
