import { randomUUID } from 'node:crypto';

/** The metadata of an answer. Times are Unix milliseconds. */
export interface AnswerMeta {
  /** Identifies an answer within its presentation. Versions sort by the age of the data. */
  version: string;
  contentType: string;
  /** Encoding of the stored body. Clients without gzip get it decompressed. */
  encoding: 'identity' | 'gzip';
  /** Bytes of the decompressed body. */
  size: number;
  /** Fetch time of the oldest part of the data. */
  fetchedAt: number;
  /** When the provider last updated the oldest part of the data, if it says so. */
  updatedAt?: number;
  /** The answer's field `fromCache`: whether its data came from the result cache. */
  fromCache: boolean;
  /** The price of a call with this answer. */
  units: number;
  /** Tokens that fetching its data cost, for this call or others. */
  tokens: number;
  /** Outline of the data as JSON, for JSON bodies larger than `INLINE_LIMIT_BYTES`. */
  outline?: string;
}

/** An answer as stored. `body` is null if it is large and stored separately. */
export interface StoredAnswer {
  meta: AnswerMeta;
  body: Buffer | null;
}

/** Bodies up to this stored size are kept with their metadata. Gateways never parse larger ones. */
export const INLINE_LIMIT_BYTES = 65_536;

const TIME_DIGITS = 12;
export const VERSION_LENGTH = 20;

/** Creates a version: the fetch time in hex, so that versions sort by age, and a random part. */
export function newVersion(fetchedAt: number): string {
  // Node draws the random bits of many UUIDs at once; a few bytes cost as much as all of them.
  const random = randomUUID().slice(TIME_DIGITS - VERSION_LENGTH);
  return fetchedAt.toString(16).padStart(TIME_DIGITS, '0') + random;
}

/** Layout: version (20 ASCII characters, which a Redis script reads), length of the metadata, metadata, body. */
export function encodeAnswer({ meta, body }: StoredAnswer): Buffer {
  const { version, ...rest } = meta;
  const json = Buffer.from(JSON.stringify({ ...rest, inline: body !== null }));
  const head = Buffer.alloc(VERSION_LENGTH + 4);
  head.write(version, 'latin1');
  head.writeUInt32BE(json.length, VERSION_LENGTH);
  return Buffer.concat(body ? [head, json, body] : [head, json]);
}

export function decodeAnswer(bytes: Buffer): StoredAnswer {
  const version = bytes.toString('latin1', 0, VERSION_LENGTH);
  const bodyAt = VERSION_LENGTH + 4 + bytes.readUInt32BE(VERSION_LENGTH);
  const { inline, ...meta } = JSON.parse(bytes.toString('utf8', VERSION_LENGTH + 4, bodyAt)) as Omit<
    AnswerMeta,
    'version'
  > & { inline: boolean };
  return { meta: { version, ...meta }, body: inline ? bytes.subarray(bodyAt) : null };
}
