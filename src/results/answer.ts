import { randomBytes } from 'node:crypto';

/** What is known of an answer without its body. Times are Unix milliseconds. */
export interface AnswerMeta {
  /** Orders the answers of one presentation by the age of their data, and tells them apart. */
  version: string;
  contentType: string;
  /** How the body is stored; clients that cannot take it so get it inflated. */
  encoding: 'identity' | 'gzip';
  /** Bytes of the body as a client without gzip gets it. */
  size: number;
  /** When the oldest piece of its data was fetched from upstream. */
  fetchedAt: number;
  /** What the answer itself says: whether its data came from the result cache. */
  fromCache: boolean;
  /** What a call that is given this answer costs. */
  units: number;
  /** What fetching its data has cost upstream, whoever did. */
  tokens: number;
  /** Of a JSON body that is larger than `INLINE_LIMIT_BYTES`: what its data hold, as JSON. */
  outline?: string;
}

/** An answer as it is kept. `body` is null where it is kept apart because it is large. */
export interface StoredAnswer {
  meta: AnswerMeta;
  body: Buffer | null;
}

/** Bodies up to this size (as stored) travel with their meta data; larger ones are never parsed by a gateway. */
export const INLINE_LIMIT_BYTES = 65_536;

const TIME_DIGITS = 12;
export const VERSION_LENGTH = 20;

/** A version: the age of the data in hex, so that the order of versions is the order of ages, and something random. */
export function newVersion(fetchedAt: number): string {
  const random = randomBytes((VERSION_LENGTH - TIME_DIGITS) / 2).toString('hex');
  return fetchedAt.toString(16).padStart(TIME_DIGITS, '0') + random;
}

/** Layout: version (20 ASCII characters, read by a script in Redis), length of the meta data, meta data, body. */
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
