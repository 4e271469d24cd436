import type { ErrorCode } from './generated/operations.ts';

/** Codes of errors without an answer of the service. */
export type ClientErrorCode = 'CONNECTION_FAILED' | 'TIMEOUT' | 'UNEXPECTED_ANSWER' | 'WEBHOOK_INVALID';

export interface ErrorFacts {
  code: ErrorCode | ClientErrorCode;
  /** HTTP status; null without an answer. */
  status: number | null;
  /** Identifies the request in the logs of the service. */
  requestId: string | null;
  /** Details, such as every invalid parameter in `errors`. */
  metadata: Readonly<Record<string, unknown>>;
  /** How long the service asks to wait before the next attempt; null if it does not say. */
  retryAfterMs: number | null;
}

/** The base of all errors of this package. */
export class SoukError extends Error implements ErrorFacts {
  override readonly name: string = 'SoukError';
  readonly code: ErrorFacts['code'];
  readonly status: number | null;
  readonly requestId: string | null;
  readonly metadata: Readonly<Record<string, unknown>>;
  readonly retryAfterMs: number | null;

  constructor(message: string, facts: Partial<ErrorFacts> & Pick<ErrorFacts, 'code'>, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.code = facts.code;
    this.status = facts.status ?? null;
    this.requestId = facts.requestId ?? null;
    this.metadata = facts.metadata ?? {};
    this.retryAfterMs = facts.retryAfterMs ?? null;
  }
}

/** The request is malformed: 400, 405, 408, 413, 415. `metadata.errors` lists every invalid parameter. */
export class InvalidRequestError extends SoukError {
  override readonly name = 'InvalidRequestError';
}

/** The key is missing, unknown or revoked: 401, 403. */
export class AuthenticationError extends SoukError {
  override readonly name = 'AuthenticationError';
}

/** The job, batch, schedule, delivery or record does not exist, or has expired: 404, 410. */
export class NotFoundError extends SoukError {
  override readonly name = 'NotFoundError';
}

/** The state of a job or batch does not allow the request, or the call was cancelled: 409. */
export class ConflictError extends SoukError {
  override readonly name = 'ConflictError';
}

/** Units, calls of the plan, or `maxUnits` do not suffice: 429 with a code that starts with `QUOTA_`. */
export class QuotaError extends SoukError {
  override readonly name = 'QuotaError';
}

/** Too many requests, or a limit of the account: 429 with another code. */
export class RateLimitError extends SoukError {
  override readonly name = 'RateLimitError';
}

/** The service or its data provider failed: 500 and above. */
export class ServiceError extends SoukError {
  override readonly name = 'ServiceError';
}

/** The connection failed or ended before the answer was complete. */
export class ConnectionError extends SoukError {
  override readonly name = 'ConnectionError';

  constructor(message: string, cause?: unknown) {
    super(message, { code: 'CONNECTION_FAILED' }, cause);
  }
}

/** The service did not answer within `timeoutMs`. */
export class TimeoutError extends SoukError {
  override readonly name = 'TimeoutError';

  constructor(message: string) {
    super(message, { code: 'TIMEOUT' });
  }
}

/** A webhook is not signed with the secret, or is too old. */
export class WebhookError extends SoukError {
  override readonly name = 'WebhookError';

  constructor(message: string) {
    super(message, { code: 'WEBHOOK_INVALID' });
  }
}

/** Returns the error that an answer of the service stands for. */
export function errorOf(facts: ErrorFacts & { status: number }, message: string): SoukError {
  return new (classOf(facts))(message, facts);
}

function classOf({ status, code }: ErrorFacts & { status: number }): typeof SoukError {
  if (status === 429) return code.startsWith('QUOTA_') ? QuotaError : RateLimitError;
  if (status === 401 || status === 403) return AuthenticationError;
  if (status === 404 || status === 410) return NotFoundError;
  if (status === 409) return ConflictError;
  return status >= 500 ? ServiceError : InvalidRequestError;
}
