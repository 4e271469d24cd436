import { z } from 'zod';
import { findSchedule, type Schedule } from '../../../batches/schedules/schedule.ts';
import { scheduleSchema } from '../../../batches/schedules/view.ts';
import { SCHEMA_NAMES } from '../../../operations/answers/schema-names.ts';
import { integer } from '../../../operations/params/scalars.ts';
import type { Clock } from '../../../platform/clock.ts';
import type { Database } from '../../../platform/db/pool.ts';
import { SoukError } from '../../../platform/errors.ts';
import { uuidParameter } from '../../ids.ts';
import type { Account } from '../../plugins/authentication.ts';
import { requireUse } from '../../scopes.ts';

export interface ScheduleDeps {
  database: Database;
  clock: Clock;
}

export const scheduleId = { of: 'the schedule', unknown: 'SCHEDULE_NOT_FOUND' } as const;

/**
 * Returns a schedule of the account that its key may use.
 * @throws SoukError SCHEDULE_NOT_FOUND, also for a schedule of another account, or KEY_SCOPE_MISSING.
 */
export async function ownSchedule(
  { database }: Pick<ScheduleDeps, 'database'>,
  account: Account,
  id: string,
  use: 'read' | 'change' = 'read',
): Promise<Schedule> {
  const schedule = await findSchedule(database, account.accountId, id);
  if (!schedule) throw new SoukError('SCHEDULE_NOT_FOUND');
  requireUse(account, schedule.operation, use);
  return schedule;
}

export const pageQuery = z.object({
  limit: integer({ min: 1, max: 100 }).default(50).describe('Entries per page'),
  cursor: uuidParameter('the last entry of the previous page').optional(),
});

/** Answer to creating or updating a schedule with dryRun. */
export const previewSchema = scheduleSchema
  .extend({ dryRun: z.literal(true) })
  .register(SCHEMA_NAMES, { id: 'SchedulePreview' });
