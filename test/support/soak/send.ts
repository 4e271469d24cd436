import { Agent, request } from 'undici';
import { ERRORS } from '../../../src/platform/errors.ts';
import type { Exchange } from './judge/history.ts';

/** What an answer says about a call. */
export type Heard = Pick<Exchange, 'outcome' | 'said' | 'jobId' | 'units' | 'got'>;

export interface SoakRequestOptions {
  method?: 'GET' | 'DELETE' | 'POST';
  prefer?: string | null;
  body?: unknown;
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

interface Body {
  code: string;
  data: {
    domainId?: number;
    products?: { asin: string }[];
    errors?: { asin: string; errorId: string }[];
  } | null;
}

/** Sends a request, and reads only what is judged. @returns null if no process listens at the address. */
export async function send(
  url: string,
  key: string,
  { method = 'GET', prefer = null, body: sent, leavesAfterMs = null }: SoakRequestOptions = {},
): Promise<Heard | null> {
  try {
    const { statusCode, headers, body } = await request(url, {
      dispatcher: agent,
      method,
      headers: {
        'x-api-key': key,
        ...(prefer === null ? {} : { prefer }),
        ...(sent === undefined ? {} : { 'content-type': 'application/json' }),
      },
      ...(sent === undefined ? {} : { body: JSON.stringify(sent) }),
      ...(leavesAfterMs === null ? {} : { signal: AbortSignal.timeout(leavesAfterMs) }),
    });
    return heard(statusCode, headers, (await body.json()) as Body);
  } catch (error) {
    const { code, name } = error as NodeJS.ErrnoException;
    if (code === 'ECONNREFUSED') return null;
    const said = leavesAfterMs !== null && name === 'TimeoutError' ? 'the client left' : String(code ?? name);
    return { outcome: 'unheard', said, jobId: null, units: 0 };
  }
}

function heard(
  status: number,
  headers: Record<string, string | string[] | undefined>,
  { code, data }: Body,
): Heard {
  const jobId = headers['x-job-id'] === undefined ? null : String(headers['x-job-id']);
  // Fetching a result costs nothing; a second header has what its call cost.
  const units = Number(headers['x-units-charged'] ?? headers['x-units-consumed'] ?? -1);
  const said = headers['x-deduplicated'] === 'true' ? `${status} joined` : String(status);
  // That there is no product is an answer, too.
  const unknown = data?.errors?.filter(({ errorId }) => errorId.startsWith('PRODUCT_')) ?? [];
  const got = data?.products && [...data.products, ...unknown].map(({ asin }) => `${data.domainId} ${asin}`);
  if (status === 200) return { outcome: 'answered', said, jobId, units, ...(got ? { got } : {}) };
  if (status === 202) return { outcome: 'accepted', said, jobId, units };
  return { outcome: OUTCOMES.get(code) ?? 'failed', said: `${status} ${code}`, jobId, units };
}
