import { randomUUID } from 'node:crypto';
import { SoukError } from '../../platform/errors.ts';
import type { Logger } from '../../platform/log.ts';
import { TokensAwaited } from '../token-bucket.ts';

/** Why upstream gave no data. The kinds differ in what can be done about them. */
export type RefusalKind =
  /** 429 with a cookie: the same call with that cookie is answered. */
  | 'cookieGate'
  /** 429 without a cookie: too many calls. */
  | 'rateLimited'
  /** A redirect to a page for humans: our address is suspect for a long while. */
  | 'captcha'
  /** 401: the token is too old, or for another request. */
  | 'staleToken'
  /** 400: upstream does not understand what it was asked. */
  | 'badRequest'
  /** Said with 200: it understands, but knows no such region. */
  | 'badArgument'
  /** 404: the interface is not there any more. */
  | 'gone'
  /** An answer of no use. */
  | 'malformed'
  /** No answer, or one with 5xx. */
  | 'failed'
  /** Not asked at all: upstream refuses at present. */
  | 'paused';

export class Refusal extends Error {
  readonly kind: RefusalKind;
  /** When it may be worth asking again. */
  readonly retryAfterMs: number | undefined;

  constructor(kind: RefusalKind, message: string, details: { retryAfterMs?: number; cause?: unknown } = {}) {
    super(message, details.cause === undefined ? {} : { cause: details.cause });
    this.kind = kind;
    this.retryAfterMs = details.retryAfterMs;
  }
}

/** Kinds that an operator should hear of: they do not pass by themselves. */
const ALARMING = new Set<RefusalKind>(['captcha', 'gone', 'badRequest']);

/** What a customer is told of a failure; the reason goes into the log. */
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
  if (ALARMING.has(kind as RefusalKind)) log.error(facts, 'the search-trend provider refuses');
  else log.warn(facts, 'the search-trend provider failed');
  return new SoukError('UPSTREAM_ERROR', {
    metadata: { errorId },
    cause: `${kind}: ${facts.reason}`,
    ...(retryAfterMs === undefined ? {} : { retryAfterSeconds: Math.ceil(retryAfterMs / 1000) }),
  });
}
