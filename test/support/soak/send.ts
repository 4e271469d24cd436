import { Agent, request } from 'undici';
import { ERRORS } from '../../../src/platform/errors.ts';
import type { SoakAccount } from './accounts.ts';
import type { Observation } from './observations.ts';

/** What an answer says about a call. */
export type Heard = Pick<Observation, 'outcome' | 'said' | 'jobId' | 'units'>;

export interface SoakRequestOptions {
  method?: 'GET' | 'DELETE';
  prefer?: string | null;
  /** The client disconnects after this time. */
  leavesAfterMs?: number | null;
}

/** The time limit of an answer. The limits of the service are shorter. */
const PATIENCE_MS = 90_000;

const LIMITS = { headersTimeout: PATIENCE_MS, bodyTimeout: PATIENCE_MS, keepAliveTimeout: 1_000 };

const agent = new Agent({ connections: 256, ...LIMITS });

const OUTCOMES = new Map<string, 'refused' | 'failed'>(
  Object.values(ERRORS).map(({ code, units }) => [code, units === 'none' ? 'refused' : 'failed']),
);

/** Sends a request, and reads only what is audited. @returns null if no process listens at the address. */
export async function send(
  url: string,
  { key }: SoakAccount,
  { method = 'GET', prefer = null, leavesAfterMs = null }: SoakRequestOptions = {},
): Promise<Heard | null> {
  try {
    const { statusCode, headers, body } = await request(url, {
      dispatcher: agent,
      method,
      headers: { 'x-api-key': key, ...(prefer === null ? {} : { prefer }) },
      ...(leavesAfterMs === null ? {} : { signal: AbortSignal.timeout(leavesAfterMs) }),
    });
    if (statusCode < 300) await body.dump({ limit: Number.MAX_SAFE_INTEGER });
    const code = statusCode < 300 ? '' : ((await body.json()) as { code: string }).code;
    return heard(statusCode, headers, code);
  } catch (error) {
    const { code, name } = error as NodeJS.ErrnoException;
    if (code === 'ECONNREFUSED') return null;
    const said = leavesAfterMs !== null && name === 'TimeoutError' ? 'the client left' : String(code ?? name);
    return { outcome: 'unheard', said, jobId: null, units: 0 };
  }
}

function heard(status: number, headers: Record<string, string | string[] | undefined>, code: string): Heard {
  const jobId = headers['x-job-id'] === undefined ? null : String(headers['x-job-id']);
  // Fetching a result costs nothing; a second header has what its call cost.
  const units = Number(headers['x-units-charged'] ?? headers['x-units-consumed'] ?? -1);
  const said = headers['x-deduplicated'] === 'true' ? `${status} joined` : String(status);
  if (status === 200) return { outcome: 'answered', said, jobId, units };
  if (status === 202) return { outcome: 'accepted', said, jobId, units };
  return { outcome: OUTCOMES.get(code) ?? 'failed', said: `${status} ${code}`, jobId, units };
}
