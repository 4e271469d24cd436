import { z } from 'zod';
import {
  CLIENT_REGISTRATIONS_PER_HOUR,
  SIGN_UPS_PER_HOUR,
  UNKNOWN_KEYS_PER_MINUTE,
} from '../accounts/attempts.ts';
import { ACCOUNT_LIMITS, type AccountLimits } from '../batches/limits.ts';
import { TEST_UNITS_PER_DAY } from '../billing/test-wallet.ts';
import { didYouMean } from '../operations/faults.ts';
import { SUPPORT_GRANT_UNITS } from '../operator/acts/sale-acts.ts';
import { RETENTION, type RetentionSettings } from '../operator/retention.ts';
import { WEBHOOK_LIMITS, type WebhookLimits } from '../outbox/webhooks/webhook-limits.ts';
import { STORE_ANSWER_LIMIT_MS } from '../platform/outage.ts';
import { ConfigError } from '../platform/settings.ts';

/** A whole number in a range, with its default. */
function whole(fallback: number, from = 1, to = Number.MAX_SAFE_INTEGER) {
  const range = to === Number.MAX_SAFE_INTEGER ? `from ${from}` : `from ${from} to ${to}`;
  const error = ({ input }: { input?: unknown }) =>
    `must be a whole number ${range}, got ${JSON.stringify(input)}`;
  return z.int({ error }).min(from, { error }).max(to, { error }).default(fallback);
}

/** Limits on what an account, an address or a store may take. They are keys of the setting LIMITS. */
export const LIMITS = {
  FREE_REQUESTS_PER_SECOND: whole(20).describe(
    'Requests per second that an account may send without paying for them (quotes, lists, job status, refused and joined calls), over all gateways; counted over 5 seconds, so five times as many may arrive at the same time',
  ),
  OPEN_REQUESTS_PER_ACCOUNT: whole(200).describe(
    'Requests of an account that one gateway answers at the same time, including calls and long polls that wait',
  ),
  OPEN_STREAMS_PER_ACCOUNT: whole(20).describe('Event streams of an account that one gateway keeps open'),
  OPEN_UPLOADS_PER_ACCOUNT: whole(2).describe(
    'Uploads of an account that one gateway receives at the same time',
  ),
  OPEN_DOWNLOADS_PER_ACCOUNT: whole(2).describe(
    'Batch results and ledgers of an account that one gateway sends at the same time',
  ),
  OPEN_PAGES_PER_ACCOUNT: whole(10).describe('Pages of an account that one gateway makes at the same time'),
  DOWNLOAD_STALL_SECONDS: whole(60).describe(
    'Seconds after which a download of batch results or of a ledger ends if its client reads nothing',
  ),
  OPEN_BATCHES_PER_ACCOUNT: whole(ACCOUNT_LIMITS.openBatches).describe(
    'Batches of an account that are not finished, runs of schedules included',
  ),
  SCHEDULES_PER_ACCOUNT: whole(ACCOUNT_LIMITS.schedules).describe('Schedules and trackers of an account'),
  STORED_BYTES_PER_ACCOUNT: whole(ACCOUNT_LIMITS.storedBytes).describe(
    'Bytes of stored results of an account, those of jobs and batches; beyond that, new batches and calls with `Prefer: respond-async` are refused. An eighth more is for results of calls that were answered directly',
  ),
  WEBHOOKS_PER_CALL: whole(WEBHOOK_LIMITS.perCall).describe(
    'Webhooks of a call; identical requests within five minutes are one call, and each may name an address',
  ),
  PENDING_WEBHOOKS_PER_ACCOUNT: whole(WEBHOOK_LIMITS.pendingPerAccount).describe(
    'Undelivered webhooks that an account may have. At the limit, requests with a webhook are refused',
  ),
  PENDING_WEBHOOK_HOSTS_PER_ACCOUNT: whole(WEBHOOK_LIMITS.hostsPerAccount).describe(
    'Hosts to which an account may have undelivered webhooks. At the limit, requests with a webhook to a further host are refused',
  ),
  UNKNOWN_KEYS_PER_MINUTE: whole(UNKNOWN_KEYS_PER_MINUTE).describe(
    'Unknown keys of one address that a gateway refuses with 401 in a minute; further ones get 429',
  ),
  PAGES_PER_SECOND: whole(20).describe(
    'Requests per second of one address that a gateway answers for pages that need no session (front page, documentation, status, sign-in and others), counted over 5 seconds',
  ),
  REFUSALS_PER_SECOND: whole(20).describe(
    'Refusals (`4xx`) per second that a gateway sends without delay to one account, or to one address without a known key, counted over 5 seconds; further ones are sent a second later; the refusal of a body over 64 KiB counts as 20 for its address',
  ),
  UPLOAD_BYTES: whole(268_435_456).describe(
    'Bytes of uploads that one gateway receives at the same time; an upload has at most 16,777,216',
  ),
  STORE_ANSWER_LIMIT_MS: whole(STORE_ANSWER_LIMIT_MS, 100).describe(
    'Milliseconds after which a gateway refuses a request with `503 BUSY` because PostgreSQL or Redis has not answered, and after which a process goes on without the Redis of cached data; raise it where stores are slow or far away',
  ),
  UPLOAD_BYTES_PER_ACCOUNT_AND_MINUTE: whole(67_108_864).describe(
    'Bytes of uploads that an account may send in a minute, over all gateways; a batch that costs nothing, such as a dry run, counts as well',
  ),
  UPLOAD_BYTES_PER_SECOND: whole(16_777_216).describe(
    'Bytes of all uploads that one gateway reads in a second; faster uploads are slowed down',
  ),
  SIGN_UPS_PER_HOUR: whole(SIGN_UPS_PER_HOUR, 1, 1_000_000).describe(
    'Sign-ups that a network may try in an hour, whether they succeed or not: an IPv4 network of 24 bits, an IPv6 network of 64 bits',
  ),
  CLIENT_REGISTRATIONS_PER_HOUR: whole(CLIENT_REGISTRATIONS_PER_HOUR, 1, 1_000_000).describe(
    'Programs that a network may register in an hour to sign in by OAuth, including programs whose metadata document is fetched: an IPv4 network of 24 bits, an IPv6 network of 64 bits',
  ),
  TEST_UNITS_PER_DAY: whole(TEST_UNITS_PER_DAY, 1, 1_000_000).describe(
    'Units that the test keys of an account may use in a day together',
  ),
  SUPPORT_GRANT_UNITS: whole(SUPPORT_GRANT_UNITS, 0, 1_000_000_000).describe(
    'Units that a person with the role support may grant in packs in a UTC day together',
  ),
  MCP_RESULT_TOKENS: whole(6_000, 2_000, 16_000).describe(
    'Largest result of an MCP tool, in tokens, estimated from above; larger results are returned as an outline with the next step',
  ),
  CALLS_KEPT_MONTHS: whole(RETENTION.callMonths, 2, 1_200).describe(
    'Months for which finished calls are kept, after the month in which they were accepted',
  ),
  LEDGER_KEPT_MONTHS: whole(RETENTION.ledgerMonths, 0, 1_200).describe(
    'Months after which the lines of the ledger are folded into one line for each pack or subscription, kind and month; more than CALLS_KEPT_MONTHS. 0: never',
  ),
  REPORT_WEEKS_KEPT: whole(RETENTION.reportWeeks, 5, 10_000).describe(
    'Weekly reports of each site that are kept, in addition to the one before them',
  ),
} as const;

const limits = z.strictObject(LIMITS, {
  error: (issue) => {
    if (issue.code !== 'unrecognized_keys') return 'must be a JSON object';
    const [name = ''] = issue.keys;
    return `has no limit ${name}${didYouMean(name, Object.keys(LIMITS))}`;
  },
});

/** The setting LIMITS: a JSON object with the limits that differ from their defaults. */
export const limitsSetting = z
  .string()
  .default('{}')
  .transform((text, context) => {
    try {
      return JSON.parse(text) as unknown;
    } catch {
      context.addIssue({ code: 'custom', message: 'must be a JSON object' });
      return z.NEVER;
    }
  })
  .pipe(limits)
  .describe(
    'Limits and retention that differ from their [defaults](#limits), as JSON, such as `{"FREE_REQUESTS_PER_SECOND": 50}`; the same for all gateways and workers',
  );

/** Returns name, meaning and default of each limit, for the documentation. */
export function describeLimits(): { name: string; meaning: string; fallback: string }[] {
  const defaults = limits.parse({});
  return Object.entries(LIMITS).map(([name, { description = '' }]) => ({
    name,
    meaning: description,
    fallback: String(defaults[name as keyof typeof LIMITS]),
  }));
}

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

/** Returns how long tables keep their rows. @throws ConfigError if calls were kept for longer than their ledger lines. */
export function retentionSettings(config: LimitConfig): RetentionSettings {
  const { CALLS_KEPT_MONTHS: callMonths, LEDGER_KEPT_MONTHS: ledgerMonths } = config;
  if (ledgerMonths !== 0 && ledgerMonths <= callMonths)
    throw new ConfigError(
      `LIMITS: LEDGER_KEPT_MONTHS must be 0 or more than CALLS_KEPT_MONTHS (${callMonths}), got ${ledgerMonths}.`,
    );
  return { callMonths, ledgerMonths, reportWeeks: config.REPORT_WEEKS_KEPT };
}
