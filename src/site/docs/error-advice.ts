import type { ErrorKind } from '../../platform/errors.ts';

/** What the documentation says of an error beyond its text, in Markdown. */
export interface ErrorAdvice {
  /** When it happens. */
  cause: string;
  /** What the caller does about it. */
  cure: string;
}

/** An entry for each error of the list: it does not compile without. */
export const ERROR_ADVICE: Record<ErrorKind, ErrorAdvice> = {
  VALIDATION_FAILED: {
    cause:
      'A required parameter is missing, a value is of the wrong kind or outside its bounds, or two parameters contradict each other, such as `domain` and `country`. Also an address or a request that is not well formed, and a body that is not JSON.',
    cure: 'Read `metadata.errors`: it names every bad parameter with what is wrong and what is allowed. With a batch each entry has the `index` of its item. The same request will fail again.',
  },
  SELECTION_INVALID: {
    cause:
      'The selection of the product finder or of deals is missing or no JSON, or that of the product finder has no `domain`, or a field or value that does not exist.',
    cure: 'Send the selection as the JSON body of a POST, or URL-encoded in the parameter `selection` of a GET. `metadata.errors` names every fault.',
  },
  KEY_INVALID: {
    cause:
      'No key was sent, it is not `km_` followed by 32 letters or digits, nobody has it, or several places of the request carry different keys.',
    cure: 'Send one key, in one place: `X-API-Key`, `Authorization: Bearer` or `?key=`. With `Retry-After` too many wrong keys came from your address: wait so many seconds before the next. A key that was reset works for another 30 minutes at most.',
  },
  KEY_FORBIDDEN: {
    cause: 'The key is known, but it was revoked or has run out, or its account is disabled.',
    cure: 'Use the new key of the account. Where there is none, ask the operator of this service.',
  },
  NOT_FOUND: {
    cause: 'The path does not exist. Names of paths are in lower case.',
    cure: 'Compare it with the [API reference](/docs/api).',
  },
  JOB_NOT_FOUND: {
    cause:
      'The id is wrong, the job belongs to another account, or it is older than 24 hours, which is how long jobs and results are kept.',
    cure: 'Look at `/api/jobs` for the jobs there are. Where the result is no longer kept, make the call again.',
  },
  BATCH_NOT_FOUND: {
    cause: 'The id is wrong, the batch belongs to another account, or it ended more than 7 days ago.',
    cure: 'Look at `/api/batches` for the batches there are.',
  },
  SCHEDULE_NOT_FOUND: {
    cause: 'The id is wrong, the schedule belongs to another account, or it was deleted.',
    cure: 'Look at `/api/schedules` for the schedules there are.',
  },
  DELIVERY_NOT_FOUND: {
    cause: 'The id is wrong, the delivery belongs to another account, or it ended more than 30 days ago.',
    cure: 'Look at `/api/webhooks/deliveries` for the deliveries there are.',
  },
  PRODUCT_NOT_FOUND: {
    cause:
      'A call for variations named an ASIN, or led to a parent, of which the data provider has no record on this site.',
    cure: 'Check the ASIN and the site: a product of one site need not exist on another.',
  },
  WORD_NOT_FOUND: {
    cause: 'No loaded week of brand analytics has a keyword with this id.',
    cure: 'Find the id with `/api/aba/search` or `/api/aba/rank`.',
  },
  METHOD_NOT_ALLOWED: {
    cause: 'The path exists, but not for this method, such as a POST to a path that takes GET alone.',
    cure: 'Use a method of the header `Allow`.',
  },
  JOB_SHARED: {
    cause:
      'You have cancelled a job, and a repeated call of your account had joined it: the other call would have lost its answer.',
    cure: 'Nothing to do. The job goes on and is charged once.',
  },
  CANCELLED: {
    cause: 'The job was cancelled with `DELETE`, by this account, while it waited or ran.',
    cure: 'Make the call again if you want its answer after all.',
  },
  IDEMPOTENCY_CONFLICT: {
    cause: 'A batch with this `idempotencyKey` exists, and its request was another one.',
    cure: 'Use a new key for a new request. Only the same request again gets the same batch.',
  },
  BATCH_STATE: {
    cause: 'A retry was asked of a batch that is not finished, or of one in which nothing has failed.',
    cure: 'Wait until `finishedAt` of the batch is set, and look at its counts for failed items.',
  },
  PAYLOAD_TOO_LARGE: {
    cause:
      'The body is larger than the address takes (64 KiB, for batches and schedules more), or address and headers together are larger than 64 KiB.',
    cure: 'Ask for fewer things at a time, send lists in the body of a POST, or make a [batch](/docs/batches-and-schedules).',
  },
  UNSUPPORTED_MEDIA_TYPE: {
    cause:
      'The body came with another `Content-Type`, such as the one of an HTML form, which curl sends by default.',
    cure: 'Send `Content-Type: application/json`; batches also take `application/x-ndjson`.',
  },
  QUOTA_NO_SUBSCRIPTION: {
    cause: 'The key is good, but its account has never had, or no longer has, a subscription or a pack.',
    cure: 'Ask the operator of this service for a subscription or a pack.',
  },
  QUOTA_OFF_PEAK_ONLY: {
    cause: 'All units of the account are off-peak units, and it is not that time of the day.',
    cure: 'Wait for the window: `offPeakWindow` of `/api/quota` says when it opens. A batch with `"window": "off_peak"` waits by itself.',
  },
  QUOTA_MINUTE_EXCEEDED: {
    cause: 'The account has made as many calls in this minute of the clock as its plan or pack allows.',
    cure: 'Wait for the seconds of `Retry-After`, and watch the header `RateLimit` to slow down in time. One call with 100 ASINs counts as one; batches keep to the limit by themselves.',
  },
  QUOTA_DAILY_EXCEEDED: {
    cause: 'The units of the plan for this day (UTC) are used up.',
    cure: 'Wait for the next day, which `metadata.resetAt` names, or buy a pack.',
  },
  QUOTA_MONTHLY_EXCEEDED: {
    cause: 'The units of the plan for this month, counted from the day of the subscription, are used up.',
    cure: 'Wait for the next month, which `metadata.resetAt` names, or buy a pack.',
  },
  QUOTA_PACK_EXHAUSTED: {
    cause: 'The account lives on packs, and none that is valid now has units left.',
    cure: 'Buy another pack.',
  },
  QUOTA_INSUFFICIENT_UNITS: {
    cause: 'Units are left, but fewer than the most this call can cost.',
    cure: 'Ask for less: `metadata.needed` and `metadata.remaining` say how much. `?dryRun=1` tells the price beforehand.',
  },
  QUOTA_MAX_UNITS: {
    cause: 'The price of the call or batch is higher than the `maxUnits` you sent with it.',
    cure: 'Raise `maxUnits`, or ask for less. `?dryRun=1` tells the price.',
  },
  INTERNAL: {
    cause: 'A fault of this service, not of your request.',
    cure: 'Try again after a while. If it stays, tell the operator the `X-Request-Id` of the answer.',
  },
  UPSTREAM_ERROR: {
    cause:
      'The data provider refused the request, could not be reached, or gave an answer that cannot be used.',
    cure: 'Try again after a minute. If it stays, tell the operator the `metadata.errorId` of the answer. Single ASINs that fail are no error: they are listed in `data.errors` of the product look-up.',
  },
  BUSY: {
    cause:
      'So much work is waiting, or so few tokens of the data provider are left, that the call could not be done in time; or a part of the service is away for a moment.',
    cure: 'Wait for the seconds of `Retry-After` and try again. With `Prefer: respond-async` a call may wait longer in the queue.',
  },
  DEADLINE_PASSED: {
    cause:
      'The deadline of the batch came before this item was done, perhaps because it had to wait for units.',
    cure: 'Run what has failed once more with `POST /api/batches/{id}/retry`, which gives it new time, or give the batch a later `deadline`.',
  },
  UPSTREAM_TIMEOUT: {
    cause:
      'The data provider took longer than the time of the operation, or the call waited too long for its turn.',
    cure: 'Try again. Where you need not wait, ask with `Prefer: respond-async` and come back for the result.',
  },
};
