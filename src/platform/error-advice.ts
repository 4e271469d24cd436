import type { ErrorKind } from './errors.ts';

/** Cause and solution of an error for the documentation and pages, in Markdown. */
interface ErrorAdvice {
  /** When the error occurs. */
  cause: string;
  /** What the caller can do. */
  solution: string;
}

/** Advice for each error; the compiler requires all of them. */
export const ERROR_ADVICE: Record<ErrorKind, ErrorAdvice> = {
  VALIDATION_FAILED: {
    cause:
      'A required parameter is missing, a value has the wrong type or is out of bounds, or two parameters contradict each other, such as `domain` and `country`. Malformed addresses, malformed requests and bodies that are not JSON get this error too.',
    solution:
      'Read `metadata.errors`: it names every invalid parameter, with the problem and the allowed values. For a batch, each entry has the `index` of its item. Repeating the same request fails again.',
  },
  SELECTION_INVALID: {
    cause:
      'The selection of the product finder or of deals is missing or is not JSON, or the selection of the product finder has no `domain`, or contains an unknown field or value.',
    solution:
      'Send the selection as the JSON body of a POST, or URL-encoded in the parameter `selection` of a GET. `metadata.errors` lists every problem.',
  },
  KEY_INVALID: {
    cause:
      'The request has no key, the key is not `km_` followed by 32 letters or digits, the key is unknown, or different keys were sent in several places.',
    solution:
      'Send one key, in one place: `X-API-Key`, `Authorization: Bearer` or `?key=`. A key that was reset works for 30 more minutes at most.',
  },
  KEY_FORBIDDEN: {
    cause: 'The key is known, but it was revoked or has expired, or its account is disabled.',
    solution: 'Use the current key of the account, or ask the operator of this service for one.',
  },
  KEY_SCOPE_MISSING: {
    cause: 'The key was given some scopes only, and `metadata.requiredScopes` are not among them.',
    solution: 'Use another key, or add a scope to this one on the keys page.',
  },
  KEY_ADDRESS_REFUSED: {
    cause:
      'The key may be used from some networks only, and `metadata.address`, from which the request came, is in none of them.',
    solution: 'Send the request from an allowed address, or add the address to the key on the keys page.',
  },
  KEY_RIGHTS_EXCEEDED: {
    cause:
      'A key with the scope `keys` would give a key a scope or network that it does not have, or a later time of expiry.',
    solution: 'Request fewer rights, or create the key on the keys page.',
  },
  NOT_FOUND: {
    cause: 'The path does not exist. Paths are in lower case.',
    solution: 'Compare the path with the [API reference](/docs/api).',
  },
  KEY_NOT_FOUND: {
    cause: 'The id does not exist, the key belongs to another account, or it no longer works.',
    solution: 'List your keys with `/api/keys`.',
  },
  JOB_NOT_FOUND: {
    cause:
      'The id does not exist, the job belongs to another account, or the job is older than 7 days: jobs are kept for that long.',
    solution: 'List your jobs with `/api/jobs`, or repeat the call.',
  },
  RESULT_EXPIRED: {
    cause:
      'The call is older than 24 hours, or it was answered directly while the account had [no room](limits.md#how-long-data-is-kept) for another result, or it is a call of a batch: then its result is kept for 15 minutes. Or the service has lost a cached result.',
    solution:
      'Make the call again: `metadata` has its `operation`, its `params` and its price in `units`, and `POST /api/jobs` takes the first two. `params` and `units` are `null` for a call that was answered from the cache. Results of calls with `Prefer: respond-async` are kept for 24 hours. The results of a batch are at `/api/batches/{id}/results`.',
  },
  BATCH_NOT_FOUND: {
    cause: 'The id does not exist, the batch belongs to another account, or it ended more than 7 days ago.',
    solution: 'List your batches with `/api/batches`.',
  },
  SCHEDULE_NOT_FOUND: {
    cause: 'The id does not exist, the schedule belongs to another account, or it was deleted.',
    solution: 'List your schedules with `/api/schedules`.',
  },
  TRACKER_NOT_FOUND: {
    cause: 'The id does not exist, the tracker belongs to another account, or it was deleted.',
    solution: 'List your trackers with `/api/trackers`.',
  },
  DELIVERY_NOT_FOUND: {
    cause:
      'The id does not exist, the delivery belongs to another account, or it ended more than 30 days ago.',
    solution: 'List your deliveries with `/api/webhooks/deliveries`.',
  },
  PRODUCT_NOT_FOUND: {
    cause:
      'A call for variations named an ASIN, or resolved to a parent, for which the data provider has no record on this site.',
    solution: 'Check the ASIN and the site. A product of one site may not exist on another.',
  },
  WORD_NOT_FOUND: {
    cause: 'No imported week of brand analytics contains a keyword with this id.',
    solution: 'Find the id with `/api/aba/search` or `/api/aba/rank`.',
  },
  FILE_NOT_FOUND: {
    cause:
      'The account has no such file, or its time has passed: a file is kept as long as its answer states.',
    solution: 'Make the call again. Its answer names the new file.',
  },
  LINK_NOT_FOUND: {
    cause:
      'The address is incomplete, or the link has ended: its time has passed, it was revoked, or its key, account or membership has ended.',
    solution: 'Create another link to the result, with `POST /api/links` or on the page of the result.',
  },
  METHOD_NOT_ALLOWED: {
    cause: 'The path exists, but not for this method, such as POST on a path that accepts only GET.',
    solution: 'Use a method listed in the header `Allow`.',
  },
  REQUEST_TIMEOUT: {
    cause:
      'The address and headers took longer than 10 seconds to arrive, the body arrived at less than 160 KiB per 10 seconds, or the whole request took longer than 2 minutes. The connection is closed.',
    solution: 'Send the request again, over a faster connection. Send a large batch as several smaller ones.',
  },
  JOB_SHARED: {
    cause:
      'You cancelled a job that another request of your account had joined. If it were cancelled, that request would get no answer.',
    solution: 'You need not do anything. The job continues and is charged once.',
  },
  CANCELLED: {
    cause: 'Your account cancelled the job with `DELETE` while it was queued or running.',
    solution: 'Repeat the call if you still want its answer.',
  },
  IDEMPOTENCY_CONFLICT: {
    cause: 'A batch with this `idempotencyKey` already exists, and its request was different.',
    solution:
      'Use a new key for a new request. A request with the same items and settings gets the same batch, also in another form.',
  },
  BATCH_STATE: {
    cause:
      'You asked to retry a batch that has not finished, or one without failed items; or you started a schedule or tracker while its previous run has not finished.',
    solution:
      'Wait until the batch has `finishedAt`, and check its counts for failed items. `GET /api/batches?scheduleId=` lists the batches of a schedule.',
  },
  RESULT_NOT_READY: {
    cause: 'You asked for a link to the result of a job or batch that has not ended.',
    solution: 'Wait until the job or batch has `finishedAt`, then create the link.',
  },
  RANGE_NOT_SATISFIABLE: {
    cause: 'The header `Range` names bytes beyond the end of the result. `Content-Range` has its size.',
    solution: 'Ask for a range within the size. A download that already has all bytes is complete.',
  },
  PAYLOAD_TOO_LARGE: {
    cause:
      'The body exceeds the limit of the address (64 KiB; 1 MiB for schedules and trackers, 16 MiB for batches), or the address and headers together exceed 64 KiB.',
    solution:
      'Request fewer items in one call, send lists in the body of a POST, or create a [batch](batches-and-schedules.md).',
  },
  UNSUPPORTED_MEDIA_TYPE: {
    cause:
      'The body has another `Content-Type`, such as the type of an HTML form, which curl sends by default.',
    solution: 'Send `Content-Type: application/json`. Batches also accept `application/x-ndjson`.',
  },
  TOO_MANY_REQUESTS: {
    cause:
      'The account sent more requests that cost no units (quotes, lists, job status, refused and joined calls) than the service accepts: 20 per second by default, counted over 5 seconds.',
    solution:
      'Wait as long as `Retry-After` says. Instead of asking for the status of a job again and again, wait with `?wait=60`, follow its events, or use a webhook.',
  },
  TOO_MANY_OPEN: {
    cause:
      'The account has too many requests under way at the same time: 200 calls and long polls, 20 event streams, 2 uploads or 2 downloads of batch results by default. A gateway writes at most four tables of batches at the same time, two of them for an account, and refuses further ones with this error. If all uploads that a gateway receives are together too large, it also refuses further ones with this error, before it reads their bodies.',
    solution: 'Wait until some of the requests have been answered. For many calls at a time, create a batch.',
  },
  LIMIT_REACHED: {
    cause:
      'By default an account may have 100 batches that are not finished, 100 schedules and trackers together, and 10,000 webhooks that are not delivered; a call may have 10 webhooks. `metadata.of` names the limit, `metadata.limit` is its value.',
    solution:
      'Wait until a batch finishes or cancel one, delete a schedule or tracker, or repair the receiver of the webhooks. One batch can hold up to 100,000 items.',
  },
  STORAGE_EXCEEDED: {
    cause:
      'The stored results of the account have reached the limit, 2 GiB by default. Results of jobs are stored for a day, those of batches until 7 days after the end of the batch. New batches and calls with `Prefer: respond-async` are refused. `metadata.stored` and `metadata.limit` are in bytes.',
    solution:
      'Call without `Prefer: respond-async`, or wait until results expire. Ask for fewer fields or a lower level of detail.',
  },
  QUOTA_NO_SUBSCRIPTION: {
    cause: 'The key is valid, but its account has never had a plan or a pack, or no longer has one.',
    solution: 'Buy a plan or a pack, or ask the operator of this service for one.',
  },
  QUOTA_OFF_PEAK_ONLY: {
    cause: 'All units of the account are off-peak units, and the off-peak window is closed.',
    solution:
      'Wait for the window: `offPeakWindow` of `/api/quota` says when it opens. A batch with `"window": "off_peak"` waits by itself.',
  },
  QUOTA_MINUTE_EXCEEDED: {
    cause: 'The account has made as many calls in this minute of the clock as its plan or pack allows.',
    solution:
      'Wait for the number of seconds in `Retry-After`. The header `RateLimit` shows how many calls are left, so that you can slow down in time. One call with 100 ASINs counts as one call. Batches keep to the limit by themselves.',
  },
  QUOTA_DAILY_EXCEEDED: {
    cause: "The plan's units for this day (UTC) are used up.",
    solution: 'Wait until `metadata.resetAt`, the start of the next day, or buy a pack.',
  },
  QUOTA_MONTHLY_EXCEEDED: {
    cause:
      "The plan's units for this month are used up. Months are counted from the day the subscription started.",
    solution: 'Wait until `metadata.resetAt`, the start of the next month, or buy a pack.',
  },
  QUOTA_PACK_EXHAUSTED: {
    cause: 'The account has only packs, and no valid pack has units left.',
    solution: 'Buy another pack.',
  },
  QUOTA_INSUFFICIENT_UNITS: {
    cause: 'Units are left, but fewer than the highest price this call can have.',
    solution:
      'Ask for less: compare `metadata.needed` with `metadata.remaining`. `?dryRun=1` returns the price in advance.',
  },
  QUOTA_MAX_UNITS: {
    cause: 'The price of the call or batch is higher than the `maxUnits` you sent.',
    solution: 'Raise `maxUnits`, or ask for less. `?dryRun=1` returns the price.',
  },
  KEY_CAP_REACHED: {
    cause:
      'The key has a cap of units, and the call costs more than remain in this day or month (UTC). Other keys of the account are not affected.',
    solution: 'Wait for `Retry-After`, use another key, or raise the cap on the keys page.',
  },
  TOO_MANY_ATTEMPTS: {
    cause:
      'Too many wrong passwords, operator tokens or unknown keys came from your network, or too many sign-ups were tried there.',
    solution:
      'Wait for the number of seconds in `Retry-After`. Signing in from another network, or in a browser that has signed in before, works immediately. Keys in use are not affected.',
  },
  INTERNAL: {
    cause: 'An error of this service that your request did not cause.',
    solution: 'Retry later. If the error persists, send the operator the `X-Request-Id` of the answer.',
  },
  UPSTREAM_ERROR: {
    cause:
      'The data provider refused the request, could not be reached, or sent an answer that cannot be used.',
    solution:
      'Retry after a minute. If the error persists, send the operator the `metadata.errorId` of the answer. A search-trend call can accept older data with [`maxStale`](search-trends.md#when-the-provider-refuses). A single ASIN that fails is not an error of the call: the product look-up lists it in `data.errors`.',
  },
  BUSY: {
    cause:
      'The queue is too long, or too few tokens of the data provider are left, to answer the call in time; or a part of the service is temporarily unavailable.',
    solution:
      'Retry after the seconds in `Retry-After`. With `Prefer: respond-async` a call may wait longer in the queue.',
  },
  RECOVERING: {
    cause:
      'The operator has restored a backup, or the database has moved to another server. The status page names the minutes whose records may be missing.',
    solution: 'Retry after the time in `Retry-After`. Calls are accepted when the records have been checked.',
  },
  DEADLINE_PASSED: {
    cause:
      'The deadline of the batch passed before this item was completed, for example because the batch had to wait for units.',
    solution:
      'Retry the failed items with `POST /api/batches/{id}/retry`, which sets a new deadline, or give the next batch a later `deadline`.',
  },
  UPSTREAM_TIMEOUT: {
    cause:
      'The data provider took longer than the timeout of the operation, or the call waited too long in the queue.',
    solution:
      'Retry. If you need not wait for the answer, send `Prefer: respond-async` and get the result later.',
  },
};
