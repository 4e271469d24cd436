import { randomUUID } from 'node:crypto';
import { SoukError } from '../../platform/errors.ts';
import type { Logger } from '../../platform/log.ts';
import { TokensAwaited } from '../token-bucket.ts';

/** Why upstream returned no data. Each kind needs a different reaction. */
export type RefusalKind =
  /** 429 with a cookie: upstream answers the same call with that cookie. */
  | 'cookieGate'
  /** 429 without a cookie: too many calls. */
  | 'rateLimited'
  /** A redirect to a captcha: upstream blocks our address for hours. */
  | 'captcha'
  /** 401: the token has expired, or belongs to another request. */
  | 'staleToken'
  /** 400: upstream does not understand the request. */
  | 'badRequest'
  /** An error with status 200: upstream does not know the region. */
  | 'badArgument'
  /** 404: the API no longer exists. */
  | 'gone'
  /** An answer that cannot be read. */
  | 'malformed'
  /** No answer, or one with 5xx. */
  | 'failed'
  /** The call was not sent, because the endpoint is paused. */
  | 'paused';

export class Refusal extends Error {
  readonly kind: RefusalKind;
  /** Time until a retry may succeed. */
  readonly retryAfterMs: number | undefined;

  constructor(kind: RefusalKind, message: string, details: { retryAfterMs?: number; cause?: unknown } = {}) {
    super(message, details.cause === undefined ? {} : { cause: details.cause });
    this.kind = kind;
    this.retryAfterMs = details.retryAfterMs;
  }
}

/** Kinds that need the operator, because they do not end by themselves. */
const ALARMING = new Set<RefusalKind>(['captcha', 'gone', 'badRequest']);

/** Returns the public error of a failure, and logs the reason. */
export function publicError(
  error: unknown,
  { signal, log }: { signal: AbortSignal; log: Logger },
): SoukError | TokensAwaited {
  if (error instanceof TokensAwaited) return error;
  if (signal.aborted) return new SoukError('UPSTREAM_TIMEOUT', { cause: error });
  if (error instanceof SoukError) return error;
  const { kind, retryAfterMs } =
    error instanceof Refusal ? error : { kind: 'failed', retryAfterMs: undefined };
  const errorId = randomUUID();
  const facts = { errorId, kind, reason: (error as Error).message };
  if (ALARMING.has(kind as RefusalKind)) log.error(facts, 'search-trend provider refused the request');
  else log.warn(facts, 'search-trend provider request failed');
  return new SoukError('UPSTREAM_ERROR', {
    metadata: { errorId },
    cause: `${kind}: ${facts.reason}`,
    ...(retryAfterMs === undefined ? {} : { retryAfterSeconds: Math.ceil(retryAfterMs / 1000) }),
  });
}
