import { z } from 'zod';
import { cronProblem, nextRuns } from '../../../batches/schedules/cron.ts';
import type { ScheduleView } from '../../../batches/schedules/view.ts';
import { isTimeZone } from '../../../platform/time-zone.ts';
import type { Form, FormValues } from '../../kit/form-request.ts';
import { optional } from '../../kit/paging.tsx';
import type { BatchItems } from '../batch-items/batch-items.ts';
import { optionalNumber, readBatchForm } from '../batch-items/batch-items-form.ts';

const RUNS_SHOWN = 5;

/** The fields of a schedule besides its operation and items. The API validates their values. */
export const scheduleForm = z.object({
  name: z.string().trim().default(''),
  cron: z.string().trim().default(''),
  timezone: z.string().trim().default('UTC'),
  window: optional(z.string()),
  onlyChanges: z.string().default('false'),
  runHours: optionalNumber,
  maxUnits: optionalNumber,
  webhook: z.string().trim().default(''),
});

type ScheduleInput = z.output<typeof scheduleForm> & { batchItems: BatchItems | null };

/** Reads a form. @param changing whether empty items leave those of the schedule unchanged. */
export function readScheduleForm(body: unknown, changing: boolean): Form<ScheduleInput> {
  return readBatchForm(scheduleForm, body, ({ items }) => changing && !items?.trim());
}

/** The body of a request that creates or changes a schedule. */
export function scheduleBody({
  batchItems,
  maxUnits,
  webhook,
  onlyChanges,
  runHours,
  window,
  ...rest
}: ScheduleInput) {
  const limit = maxUnits === undefined ? {} : { maxUnits };
  return {
    ...rest,
    onlyChanges: onlyChanges === 'true',
    ...(window ? { window } : {}),
    ...(runHours === undefined ? {} : { runHours }),
    ...(batchItems ? { batch: { ...batchItems, ...limit, ...(webhook === '' ? {} : { webhook }) } } : {}),
  };
}

/** The values of the form of an existing schedule. Its items are not shown. */
export function valuesOf(schedule: ScheduleView): FormValues {
  const { name, cron, timezone, window, onlyChanges, runHours, maxUnits, webhook, operation } = schedule;
  return {
    ...{ name, cron, timezone, window, operation },
    onlyChanges: String(onlyChanges),
    runHours: String(runHours),
    maxUnits: maxUnits === null ? '' : String(maxUnits),
    webhook: webhook ?? '',
  };
}

/** The next runs of a form, in Unix milliseconds, even if other fields are not valid; null without a valid pattern. */
export function nextRunsOf({ cron = '', timezone }: FormValues, now: number): readonly number[] | null {
  const timing = { cron: cron.trim(), timezone: timezone?.trim() || 'UTC' };
  if (!isTimeZone(timing.timezone) || cronProblem(timing, now) !== null) return null;
  return nextRuns(timing, now, RUNS_SHOWN);
}
