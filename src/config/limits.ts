import { z } from 'zod';
import { UNKNOWN_KEYS_PER_MINUTE } from '../accounts/wrong-keys.ts';
import { ACCOUNT_LIMITS, type AccountLimits } from '../batches/account-limits.ts';
import { STORE_ANSWER_LIMIT_MS } from '../platform/outage.ts';
import { WEBHOOK_LIMITS, type WebhookLimits } from '../webhooks/webhook-limits.ts';

const most = (count: number) => z.coerce.number().int().min(1).default(count);

/** Settings of the limits on what an account may occupy without paying for it. */
export const LIMITS = {
  FREE_REQUESTS_PER_SECOND: most(20).describe(
    'Requests per second that an account may send without paying for them (quotes, lists, job status, refused and joined calls), over all gateways; counted over 5 seconds, so five times as many may arrive at once',
  ),
  OPEN_REQUESTS_PER_ACCOUNT: most(200).describe(
    'Requests of an account that one gateway answers at the same time, including calls and long polls that wait',
  ),
  OPEN_STREAMS_PER_ACCOUNT: most(20).describe('Event streams of an account that one gateway keeps open'),
  OPEN_UPLOADS_PER_ACCOUNT: most(2).describe(
    'Uploads of an account that one gateway receives at the same time',
  ),
  OPEN_DOWNLOADS_PER_ACCOUNT: most(2).describe(
    'Batch results and ledgers of an account that one gateway sends at the same time',
  ),
  OPEN_PAGES_PER_ACCOUNT: most(10).describe('Pages of an account that one gateway makes at the same time'),
  DOWNLOAD_STALL_SECONDS: most(60).describe(
    'Seconds after which a download of batch results or of a ledger ends if its client reads nothing',
  ),
  OPEN_BATCHES_PER_ACCOUNT: most(ACCOUNT_LIMITS.openBatches).describe(
    'Batches of an account that are not finished, runs of schedules included',
  ),
  SCHEDULES_PER_ACCOUNT: most(ACCOUNT_LIMITS.schedules).describe('Schedules and trackers of an account'),
  STORED_BYTES_PER_ACCOUNT: most(ACCOUNT_LIMITS.storedBytes).describe(
    'Bytes of stored results of an account, those of jobs and batches; beyond that, new batches and calls with `Prefer: respond-async` are refused. An eighth more is for results of calls that were answered directly',
  ),
  WEBHOOKS_PER_CALL: most(WEBHOOK_LIMITS.perCall).describe(
    'Webhooks of a call; identical requests within five minutes are one call, and each may name an address',
  ),
  PENDING_WEBHOOKS_PER_ACCOUNT: most(WEBHOOK_LIMITS.pendingPerAccount).describe(
    'Webhooks of an account that are not delivered; beyond that, requests with a webhook are refused',
  ),
  PENDING_WEBHOOK_HOSTS_PER_ACCOUNT: most(WEBHOOK_LIMITS.hostsPerAccount).describe(
    'Hosts of the webhooks of an account that are not delivered; beyond that, requests with a webhook to another host are refused',
  ),
  UNKNOWN_KEYS_PER_MINUTE: most(UNKNOWN_KEYS_PER_MINUTE).describe(
    'Unknown keys of one address that a gateway looks up without delay in a minute; further ones are looked up together, once a second',
  ),
  PAGES_PER_SECOND: most(20).describe(
    'Requests per second of one address that a gateway answers for pages that need no session (front page, documentation, status, sign-in and others), counted over 5 seconds',
  ),
  REFUSALS_PER_SECOND: most(20).describe(
    'Refusals (`4xx`) per second that a gateway sends without delay to one account, or to one address without a known key, counted over 5 seconds; further ones are sent a second later; the refusal of a body over 64 KiB counts as 20 for its address',
  ),
  UPLOAD_BYTES: most(268_435_456).describe(
    'Bytes of uploads that one gateway receives at the same time; an upload has at most 16,777,216',
  ),
  STORE_ANSWER_LIMIT_MS: z.coerce
    .number()
    .int()
    .min(100)
    .default(STORE_ANSWER_LIMIT_MS)
    .describe(
      'Milliseconds after which a gateway refuses a request with `503 BUSY` because PostgreSQL or Redis has not answered, and after which a process goes on without the Redis of cached data; raise it where stores are slow or far away',
    ),
  UPLOAD_BYTES_PER_ACCOUNT_AND_MINUTE: most(67_108_864).describe(
    'Bytes of uploads that an account may send in a minute, over all gateways; a batch that costs nothing, such as a dry run, counts as well',
  ),
  UPLOAD_BYTES_PER_SECOND: most(16_777_216).describe(
    'Bytes of all uploads that one gateway reads in a second; faster uploads are slowed down',
  ),
} as const;

type LimitConfig = { [Name in keyof typeof LIMITS]: number };

/** Returns the limits on what an account may occupy without paying for it. */
export function requestLimits(config: LimitConfig) {
  return {
    freePerSecond: config.FREE_REQUESTS_PER_SECOND,
    waiting: config.OPEN_REQUESTS_PER_ACCOUNT,
    streams: config.OPEN_STREAMS_PER_ACCOUNT,
    uploads: config.OPEN_UPLOADS_PER_ACCOUNT,
    downloads: config.OPEN_DOWNLOADS_PER_ACCOUNT,
    pages: config.OPEN_PAGES_PER_ACCOUNT,
    uploadBytes: config.UPLOAD_BYTES,
    uploadBytesPerSecond: config.UPLOAD_BYTES_PER_SECOND,
    uploadBytesPerMinute: config.UPLOAD_BYTES_PER_ACCOUNT_AND_MINUTE,
    downloadStallMs: config.DOWNLOAD_STALL_SECONDS * 1000,
    unknownKeysPerMinute: config.UNKNOWN_KEYS_PER_MINUTE,
    openPagesPerSecond: config.PAGES_PER_SECOND,
    refusalsPerSecond: config.REFUSALS_PER_SECOND,
  };
}

/** Returns how many webhooks an account may have. */
export function webhookLimits(config: LimitConfig): WebhookLimits {
  return {
    perCall: config.WEBHOOKS_PER_CALL,
    pendingPerAccount: config.PENDING_WEBHOOKS_PER_ACCOUNT,
    hostsPerAccount: config.PENDING_WEBHOOK_HOSTS_PER_ACCOUNT,
  };
}

/** Returns how many batches and schedules an account may have. */
export function accountLimits(config: LimitConfig): AccountLimits {
  return {
    openBatches: config.OPEN_BATCHES_PER_ACCOUNT,
    schedules: config.SCHEDULES_PER_ACCOUNT,
    storedBytes: config.STORED_BYTES_PER_ACCOUNT,
  };
}
