import { z } from 'zod';
import { findTracker, type Tracker } from '../../../batches/trackers/tracker.ts';
import { trackerSchema } from '../../../batches/trackers/view.ts';
import { SCHEMA_NAMES } from '../../../operations/answers/schema-names.ts';
import type { Database } from '../../../platform/db/pool.ts';
import { SoukError } from '../../../platform/errors.ts';
import type { Account } from '../../plugins/authentication.ts';
import { requireUse } from '../../scopes.ts';

export const trackerId = { of: 'the tracker', unknown: 'TRACKER_NOT_FOUND' } as const;

/**
 * Returns a tracker of the account that its key may use.
 * @throws SoukError TRACKER_NOT_FOUND, also for a tracker of another account, or KEY_SCOPE_MISSING.
 */
export async function ownTracker(
  { database }: { database: Database },
  account: Account,
  id: string,
  use: 'read' | 'change' = 'read',
): Promise<Tracker> {
  const tracker = await findTracker(database, account.accountId, id);
  if (!tracker) throw new SoukError('TRACKER_NOT_FOUND');
  requireUse(account, tracker.operation, use);
  return tracker;
}

/** Answer to creating or updating a tracker with dryRun. */
export const previewSchema = trackerSchema
  .extend({ dryRun: z.literal(true) })
  .register(SCHEMA_NAMES, { id: 'TrackerPreview' });
