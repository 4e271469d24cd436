import { integer } from '../../operations/params/scalars.ts';
import { SYNC_PATIENCE_MS } from '../../operations/pools.ts';

/** How long a caller wants to wait for an answer. */
export interface Preference {
  /** Return the job immediately. */
  async: boolean;
  /** Return the job after this time. The maximum is slightly above the time limit of the pool. */
  waitMs: number;
  /** The applied preference, for the header Preference-Applied. */
  applied: string | null;
}

// Built once, because building a schema takes longer than most requests.
const waitSchema = integer({ min: 0 });

/** Reads `Prefer: respond-async` and `Prefer: wait=N` (RFC 7240, seconds). @param asked whether the request has `async=1`. */
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
    // Parameters after a semicolon are ignored.
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
