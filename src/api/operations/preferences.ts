import { integer } from '../../operations/params/scalars.ts';
import { SYNC_PATIENCE_MS } from '../../operations/pools.ts';

/** How long a caller wants to wait for an answer. */
export interface Preference {
  /** Answer with the job at once. */
  async: boolean;
  /** Answer with the job after this time; at the latest after the pool's timeout and a little more. */
  waitMs: number;
  /** What of the Prefer header was followed, for Preference-Applied. */
  applied: string | null;
}

// Built once: making a schema costs more than most requests do.
const waitSchema = integer({ min: 0 });

/** Reads `Prefer: respond-async` and `Prefer: wait=N` (RFC 7240, seconds). @param asked whether `async=1` was asked for. */
export function preferenceOf(
  prefer: string | string[] | undefined,
  asked: boolean,
  timeoutMs: number,
): Preference {
  const patienceMs = timeoutMs + SYNC_PATIENCE_MS;
  if (prefer === undefined) return { async: asked, waitMs: patienceMs, applied: null };

  const preferences = [prefer]
    .flat()
    .join(',')
    .split(',')
    // What follows a semicolon are parameters, of which we know none.
    .map((entry) => (entry.split(';', 1)[0] ?? '').trim().toLowerCase());
  const respondAsync = preferences.includes('respond-async');
  const waitSeconds = waitSchema.safeParse(
    preferences
      .find((entry) => /^wait\s*=/.test(entry))
      ?.split('=')[1]
      ?.replaceAll('"', ''),
  );
  if (respondAsync) return { async: true, waitMs: 0, applied: 'respond-async' };
  if (!waitSeconds.success) return { async: asked, waitMs: patienceMs, applied: null };
  return {
    async: asked,
    waitMs: Math.min(waitSeconds.data * 1000, patienceMs),
    applied: `wait=${waitSeconds.data}`,
  };
}
