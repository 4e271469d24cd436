/**
 * The closed list of public errors. `units` tells what happens to the units of the call: `none` if no units were reserved
 * yet, or `released`.
 */
export const ERRORS = {
  VALIDATION_FAILED: {
    status: 400,
    code: 'VALIDATION_FAILED',
    units: 'none',
    text: 'A parameter is missing or invalid.',
  },
  SELECTION_INVALID: {
    status: 400,
    code: '4000',
    units: 'none',
    text: 'The selection is missing or invalid.',
  },
  KEY_INVALID: {
    status: 401,
    code: '4001',
    units: 'none',
    text: 'The API key is missing, malformed, unknown or given twice with different values.',
  },
  KEY_FORBIDDEN: {
    status: 403,
    code: '4003',
    units: 'none',
    text: 'The API key was revoked, or its account is disabled or unavailable.',
  },
  KEY_SCOPE_MISSING: {
    status: 403,
    code: 'KEY_SCOPE_MISSING',
    units: 'none',
    text: 'The API key lacks the scope of this address or operation.',
  },
  KEY_ADDRESS_REFUSED: {
    status: 403,
    code: 'KEY_ADDRESS_REFUSED',
    units: 'none',
    text: 'The API key must not be used from the address of this client.',
  },
  KEY_RIGHTS_EXCEEDED: {
    status: 403,
    code: 'KEY_RIGHTS_EXCEEDED',
    units: 'none',
    text: 'An API key cannot give a key rights that it does not have itself.',
  },
  NOT_FOUND: { status: 404, code: 'NOT_FOUND', units: 'none', text: 'No resource exists at this address.' },
  KEY_NOT_FOUND: {
    status: 404,
    code: 'KEY_NOT_FOUND',
    units: 'none',
    text: 'This account has no API key with this id.',
  },
  JOB_NOT_FOUND: {
    status: 404,
    code: 'JOB_NOT_FOUND',
    units: 'none',
    text: 'This account has no job with this id, or the job is older than 7 days.',
  },
  RESULT_EXPIRED: {
    status: 410,
    code: 'RESULT_EXPIRED',
    units: 'none',
    text: 'The result of this job has expired; make the call again.',
  },
  BATCH_NOT_FOUND: {
    status: 404,
    code: 'BATCH_NOT_FOUND',
    units: 'none',
    text: 'This account has no batch with this id, or it has expired.',
  },
  SCHEDULE_NOT_FOUND: {
    status: 404,
    code: 'SCHEDULE_NOT_FOUND',
    units: 'none',
    text: 'This account has no schedule with this id.',
  },
  TRACKER_NOT_FOUND: {
    status: 404,
    code: 'TRACKER_NOT_FOUND',
    units: 'none',
    text: 'This account has no tracker with this id.',
  },
  DELIVERY_NOT_FOUND: {
    status: 404,
    code: 'DELIVERY_NOT_FOUND',
    units: 'none',
    text: 'This account has no webhook delivery with this id, or it has expired.',
  },
  FILE_NOT_FOUND: {
    status: 404,
    code: 'FILE_NOT_FOUND',
    units: 'none',
    text: 'This account has no file with this id, or it has expired.',
  },
  LINK_NOT_FOUND: {
    status: 404,
    code: 'LINK_NOT_FOUND',
    units: 'none',
    text: 'No link exists at this address or with this id, or it has ended.',
  },
  PRODUCT_NOT_FOUND: {
    status: 404,
    code: 'PRODUCT_NOT_FOUND',
    units: 'released',
    text: 'No product data was found for this ASIN.',
  },
  WORD_NOT_FOUND: {
    status: 404,
    code: 'WORD_NOT_FOUND',
    units: 'released',
    text: 'No keyword with this id exists.',
  },
  METHOD_NOT_ALLOWED: {
    status: 405,
    code: 'METHOD_NOT_ALLOWED',
    units: 'none',
    text: 'This address does not support this method.',
  },
  REQUEST_TIMEOUT: {
    status: 408,
    code: 'REQUEST_TIMEOUT',
    units: 'none',
    text: 'The request was not received in time.',
  },
  JOB_SHARED: {
    status: 409,
    code: 'JOB_SHARED',
    units: 'none',
    text: 'The job cannot be cancelled, because other requests of this account wait for it.',
  },
  CANCELLED: {
    status: 409,
    code: 'CANCELLED',
    units: 'released',
    text: 'The job was cancelled by its account.',
  },
  IDEMPOTENCY_CONFLICT: {
    status: 409,
    code: 'IDEMPOTENCY_CONFLICT',
    units: 'none',
    text: 'This idempotency key was used for another request.',
  },
  BATCH_STATE: {
    status: 409,
    code: 'BATCH_STATE',
    units: 'none',
    text: 'The state of the batch does not allow this action.',
  },
  RESULT_NOT_READY: {
    status: 409,
    code: 'RESULT_NOT_READY',
    units: 'none',
    text: 'The job or batch has not ended, so that its result can still change.',
  },
  PAYLOAD_TOO_LARGE: {
    status: 413,
    code: 'PAYLOAD_TOO_LARGE',
    units: 'none',
    text: 'The request body is too large.',
  },
  UNSUPPORTED_MEDIA_TYPE: {
    status: 415,
    code: 'UNSUPPORTED_MEDIA_TYPE',
    units: 'none',
    text: 'The request body must be JSON, with Content-Type: application/json.',
  },
  RANGE_NOT_SATISFIABLE: {
    status: 416,
    code: 'RANGE_NOT_SATISFIABLE',
    units: 'none',
    text: 'The requested range is not within the result.',
  },
  TOO_MANY_REQUESTS: {
    status: 429,
    code: 'TOO_MANY_REQUESTS',
    units: 'none',
    text: 'The account has sent too many requests that cost no units; retry later.',
  },
  TOO_MANY_OPEN: {
    status: 429,
    code: 'TOO_MANY_OPEN',
    units: 'none',
    text: 'Too many requests or uploads are open at the same time; finish some first.',
  },
  LIMIT_REACHED: {
    status: 429,
    code: 'LIMIT_REACHED',
    units: 'none',
    text: 'The account has as many open batches, schedules, trackers, webhooks, links or keys as are allowed.',
  },
  STORAGE_EXCEEDED: {
    status: 429,
    code: 'STORAGE_EXCEEDED',
    units: 'none',
    text: 'The stored results of the account have reached the limit of storage.',
  },
  QUOTA_NO_SUBSCRIPTION: {
    status: 429,
    code: 'QUOTA_NO_SUBSCRIPTION',
    units: 'none',
    text: 'The account has no plan and no pack.',
  },
  QUOTA_OFF_PEAK_ONLY: {
    status: 429,
    code: 'QUOTA_OFF_PEAK_ONLY',
    units: 'none',
    text: "The account's units can be used in the off-peak window only.",
  },
  QUOTA_MINUTE_EXCEEDED: {
    status: 429,
    code: 'QUOTA_MINUTE_EXCEEDED',
    units: 'none',
    text: 'The limit of calls per minute is reached.',
  },
  QUOTA_DAILY_EXCEEDED: {
    status: 429,
    code: 'QUOTA_DAILY_EXCEEDED',
    units: 'none',
    text: 'The daily limit of units is reached.',
  },
  QUOTA_MONTHLY_EXCEEDED: {
    status: 429,
    code: 'QUOTA_MONTHLY_EXCEEDED',
    units: 'none',
    text: 'The monthly limit of units is reached.',
  },
  QUOTA_PACK_EXHAUSTED: {
    status: 429,
    code: 'QUOTA_PACK_EXHAUSTED',
    units: 'none',
    text: 'All packs are used up.',
  },
  QUOTA_INSUFFICIENT_UNITS: {
    status: 429,
    code: 'QUOTA_INSUFFICIENT_UNITS',
    units: 'none',
    text: 'The call costs more units than remain.',
  },
  QUOTA_MAX_UNITS: {
    status: 429,
    code: 'QUOTA_MAX_UNITS',
    units: 'none',
    text: 'The call costs more units than its maxUnits allows.',
  },
  KEY_CAP_REACHED: {
    status: 429,
    code: 'KEY_CAP_REACHED',
    units: 'none',
    text: 'The API key has used the units that it may use in this day or month.',
  },
  TOO_MANY_ATTEMPTS: {
    status: 429,
    code: 'TOO_MANY_ATTEMPTS',
    units: 'none',
    text: 'Too many attempts to sign in or to sign up, or too many unknown keys, came from one network or for one address.',
  },
  INTERNAL: { status: 500, code: '5000', units: 'released', text: 'An internal error occurred.' },
  UPSTREAM_ERROR: {
    status: 502,
    code: 'UPSTREAM_ERROR',
    units: 'released',
    text: 'The data provider rejected the request or could not be reached.',
  },
  BUSY: {
    status: 503,
    code: 'BUSY',
    units: 'released',
    text: 'The service is too busy to answer this call in time; retry later.',
  },
  RECOVERING: {
    status: 503,
    code: 'RECOVERING',
    units: 'none',
    text: 'The service was restored or has moved to another database server, and admits no call until its records have been checked; retry later.',
  },
  DEADLINE_PASSED: {
    status: 504,
    code: 'DEADLINE_PASSED',
    units: 'released',
    text: 'The deadline of the batch passed before this item was completed.',
  },
  UPSTREAM_TIMEOUT: {
    status: 504,
    code: 'UPSTREAM_TIMEOUT',
    units: 'released',
    text: 'The data provider did not answer in time.',
  },
} as const satisfies Record<string, ErrorDefinition>;

interface ErrorDefinition {
  status: number;
  code: string;
  units: 'none' | 'released';
  text: string;
}

export type ErrorKind = keyof typeof ERRORS;

export function isErrorKind(name: string): name is ErrorKind {
  return Object.hasOwn(ERRORS, name);
}
