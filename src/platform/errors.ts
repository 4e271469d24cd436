import { z } from 'zod';

/** The texts of all public errors, by status. */
const TEXTS = {
  400: {
    VALIDATION_FAILED: 'A parameter is missing or invalid.',
    SELECTION_INVALID: 'The selection is missing or invalid.',
  },
  401: { KEY_INVALID: 'The API key is missing, malformed, unknown or given twice with different values.' },
  403: {
    KEY_FORBIDDEN: 'The API key was revoked, or its account is disabled or unavailable.',
    KEY_SCOPE_MISSING: 'The API key lacks the scope of this address or operation.',
    KEY_ADDRESS_REFUSED: 'The API key must not be used from the address of this client.',
    KEY_RIGHTS_EXCEEDED: 'An API key cannot give a key rights that it does not have itself.',
  },
  404: {
    NOT_FOUND: 'No resource exists at this address.',
    KEY_NOT_FOUND: 'This account has no API key with this id.',
    JOB_NOT_FOUND: 'This account has no job with this id, or the job is older than 7 days.',
    BATCH_NOT_FOUND: 'This account has no batch with this id, or it has expired.',
    SCHEDULE_NOT_FOUND: 'This account has no schedule with this id.',
    TRACKER_NOT_FOUND: 'This account has no tracker with this id.',
    DELIVERY_NOT_FOUND: 'This account has no webhook delivery with this id, or it has expired.',
    FILE_NOT_FOUND: 'This account has no file with this id, or it has expired.',
    LINK_NOT_FOUND: 'No link exists at this address or with this id, or it has ended.',
    PRODUCT_NOT_FOUND: 'No product data was found for this ASIN.',
    WORD_NOT_FOUND: 'No keyword with this id exists.',
  },
  405: { METHOD_NOT_ALLOWED: 'This address does not support this method.' },
  408: { REQUEST_TIMEOUT: 'The request was not received in time.' },
  409: {
    JOB_SHARED: 'The job cannot be cancelled, because other requests of this account wait for it.',
    CANCELLED: 'The job was cancelled by its account.',
    IDEMPOTENCY_CONFLICT: 'This idempotency key was used for another request.',
    BATCH_STATE: 'The state of the batch does not allow this action.',
    RESULT_NOT_READY: 'The job or batch has not ended, so that its result can still change.',
  },
  410: { RESULT_EXPIRED: 'The result of this job has expired; make the call again.' },
  413: { PAYLOAD_TOO_LARGE: 'The request body is too large.' },
  415: { UNSUPPORTED_MEDIA_TYPE: 'The request body must be JSON, with Content-Type: application/json.' },
  416: { RANGE_NOT_SATISFIABLE: 'The requested range is not within the result.' },
  429: {
    TOO_MANY_REQUESTS: 'The account has sent too many requests that cost no units; retry later.',
    TOO_MANY_OPEN: 'Too many requests or uploads are open at the same time; finish some first.',
    LIMIT_REACHED:
      'The account has as many open batches, schedules, trackers, webhooks, links or keys as are allowed.',
    STORAGE_EXCEEDED: 'The stored results of the account have reached the limit of storage.',
    QUOTA_NO_SUBSCRIPTION: 'The account has no plan and no pack.',
    QUOTA_OFF_PEAK_ONLY: "The account's units can be used in the off-peak window only.",
    QUOTA_MINUTE_EXCEEDED: 'The limit of calls per minute is reached.',
    QUOTA_DAILY_EXCEEDED: 'The daily limit of units is reached.',
    QUOTA_MONTHLY_EXCEEDED: 'The monthly limit of units is reached.',
    QUOTA_PACK_EXHAUSTED: 'All packs are used up.',
    QUOTA_INSUFFICIENT_UNITS: 'The call costs more units than remain.',
    QUOTA_MAX_UNITS: 'The call costs more units than its maxUnits allows.',
    KEY_CAP_REACHED: 'The API key has used the units that it may use in this day or month.',
    TOO_MANY_ATTEMPTS:
      'Too many attempts to sign in or to sign up, or too many unknown keys, came from one network or for one address.',
  },
  500: { INTERNAL: 'An internal error occurred.' },
  502: { UPSTREAM_ERROR: 'The data provider rejected the request or could not be reached.' },
  503: {
    BUSY: 'The service is too busy to answer this call in time; retry later.',
    RECOVERING:
      'The service was restored or has moved to another database server, and admits no call until its records have been checked; retry later.',
  },
  504: {
    DEADLINE_PASSED: 'The deadline of the batch passed before this item was completed.',
    UPSTREAM_TIMEOUT: 'The data provider did not answer in time.',
  },
} as const;

export type ErrorKind = { [Status in keyof typeof TEXTS]: keyof (typeof TEXTS)[Status] }[keyof typeof TEXTS];

/** The codes that are not the name of the error. */
const CODES: Partial<Record<ErrorKind, string>> = {
  SELECTION_INVALID: '4000',
  KEY_INVALID: '4001',
  KEY_FORBIDDEN: '4003',
  INTERNAL: '5000',
};

/** The errors of calls that were admitted, whose units are released. Others are found before units are reserved. */
const RELEASED: ReadonlySet<string> = new Set<ErrorKind>([
  'PRODUCT_NOT_FOUND',
  'WORD_NOT_FOUND',
  'CANCELLED',
  'INTERNAL',
  'UPSTREAM_ERROR',
  'BUSY',
  'DEADLINE_PASSED',
  'UPSTREAM_TIMEOUT',
]);

interface ErrorDefinition {
  status: number;
  code: string;
  /** What happens to the units of the call: none were reserved yet, or they are released. */
  units: 'none' | 'released';
  text: string;
}

/** The closed list of public errors. docs/guides/errors.md has their causes and solutions. */
export const ERRORS = Object.fromEntries(
  Object.entries(TEXTS).flatMap(([status, texts]) =>
    Object.entries(texts).map(([kind, text]): [string, ErrorDefinition] => {
      const code = CODES[kind as ErrorKind] ?? kind;
      return [kind, { status: Number(status), code, units: RELEASED.has(kind) ? 'released' : 'none', text }];
    }),
  ),
) as Record<ErrorKind, ErrorDefinition>;

export function isErrorKind(name: string): name is ErrorKind {
  return Object.hasOwn(ERRORS, name);
}

/** The calls that an account may make per minute, and those left in this minute. */
export interface CallRate {
  limit: number;
  remaining: number;
  resetSeconds: number;
}

interface ErrorDetails {
  /** Public text. Default: the text in the list. */
  message?: string;
  /** Public; part of the envelope. */
  metadata?: Record<string, unknown>;
  retryAfterSeconds?: number;
  /** The calls of the current minute, for refusals that follow from a quota. */
  rate?: CallRate;
  /** For the log only. */
  cause?: unknown;
}

/** An error of the list. Its message is public; internal details belong in `cause`. */
export class SoukError extends Error {
  readonly kind: ErrorKind;
  readonly metadata: Record<string, unknown> | undefined;
  readonly retryAfterSeconds: number | undefined;
  readonly rate: CallRate | undefined;

  constructor(kind: ErrorKind, details: ErrorDetails = {}) {
    super(details.message ?? ERRORS[kind].text, details.cause === undefined ? {} : { cause: details.cause });
    this.kind = kind;
    this.metadata = details.metadata;
    this.retryAfterSeconds = details.retryAfterSeconds ?? defaultRetrySeconds(kind);
    this.rate = details.rate;
  }
}

/** Every 503 says when to retry, also if nothing is known about the time. */
function defaultRetrySeconds(kind: ErrorKind): number | undefined {
  return ERRORS[kind].status === 503 ? 5 : undefined;
}

/** A problem with one parameter, as a public text. */
export interface ParameterFault {
  parameter: string;
  problem: string;
}

/** Creates a 400 that lists every invalid parameter. */
export function invalidParameters(
  faults: readonly ParameterFault[],
  kind: 'VALIDATION_FAILED' | 'SELECTION_INVALID' = 'VALIDATION_FAILED',
): SoukError {
  return new SoukError(kind, {
    message: faults.map(({ parameter, problem }) => `${parameter}: ${problem}`).join('; '),
    metadata: { errors: faults },
  });
}

/** Reads a record of any version of the service: an error that this one does not know is an internal one. */
export const errorRecordSchema = z.object({
  kind: z.string().transform((kind): ErrorKind => (isErrorKind(kind) ? kind : 'INTERNAL')),
  message: z.string(),
  metadata: z.record(z.string(), z.unknown()).exactOptional(),
  retryAfterSeconds: z.number().exactOptional(),
});

/** The form in which a worker sends an error to waiting requests, and in which it is stored with the call. */
export type ErrorRecord = z.output<typeof errorRecordSchema>;

export function toRecord(error: SoukError): ErrorRecord {
  return {
    kind: error.kind,
    message: error.message,
    ...(error.metadata ? { metadata: error.metadata } : {}),
    ...(error.retryAfterSeconds === undefined ? {} : { retryAfterSeconds: error.retryAfterSeconds }),
  };
}

export function fromRecord({ kind, ...details }: ErrorRecord): SoukError {
  return new SoukError(isErrorKind(kind) ? kind : 'INTERNAL', details);
}
