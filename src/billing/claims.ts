import type { Database } from '../platform/db/pool.ts';
import { DEDUPLICATION_SECONDS } from './admission.ts';

/** Claims are kept this much longer than calls can join, for gateways whose clocks are behind. */
const CLOCKS_APART_SECONDS = 300;

/** Deletes the claims of settled calls that no identical call can join any more. */
export async function deleteOldClaims(database: Database, now: number): Promise<void> {
  const keptMs = (DEDUPLICATION_SECONDS + CLOCKS_APART_SECONDS) * 1000;
  await database.query('delete from call_claims where accepted_at < $1', [new Date(now - keptMs)]);
}
