import { z } from 'zod';

const most = (count: number) => z.coerce.number().int().min(1).default(count);

/** Settings of the limits on what an account may occupy without paying for it. */
export const LIMITS = {
  FREE_REQUESTS_PER_SECOND: most(20).describe(
    'Requests per second that an account may send without paying for them (quotes, lists, job status, refused and joined calls), over all gateways; those of 5 seconds may come at once',
  ),
  OPEN_REQUESTS_PER_ACCOUNT: most(200).describe(
    'Requests of an account that one gateway answers at the same time; calls and long polls wait among them',
  ),
  OPEN_STREAMS_PER_ACCOUNT: most(20).describe('Event streams of an account that one gateway keeps open'),
  OPEN_UPLOADS_PER_ACCOUNT: most(2).describe(
    'Uploads of an account that one gateway receives at the same time',
  ),
  OPEN_DOWNLOADS_PER_ACCOUNT: most(2).describe(
    'Batch results of an account that one gateway sends at the same time',
  ),
  UPLOAD_BYTES: most(268_435_456).describe(
    'Bytes of uploads that one gateway receives at the same time; an upload has at most 16,777,216',
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
    uploadBytes: config.UPLOAD_BYTES,
  };
}
