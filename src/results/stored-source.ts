import { parseJsonBytes, stringifyJsonBytes } from '../platform/json-bytes.ts';
import { type Compressed, compress, decompress } from './compression.ts';
import { answerOf } from './provider-answers.ts';

/** Raw data of one source, as upstream returned it. */
export interface StoredSource {
  /** Parsed JSON, or the bytes of a picture; null if upstream had no data. */
  value: unknown;
  /** Unix milliseconds. */
  fetchedAt: number;
  /** Tokens that fetching it cost. */
  tokens: number;
}

/** Returns the value of a source from an answer of the provider that has no other data. */
export type ReadAnswer = (answer: unknown) => unknown;

const HEAD_BYTES = 13;

const BYTES = 2;
const KINDS: Record<Compressed['encoding'], number> = { identity: 0, gzip: 1, br: 3 };

/** Added to the kind of content that is the whole answer of the provider. */
const ANSWER = 16;

/**
 * Layout: fetch time (8 bytes, a big-endian double, which a Redis script reads), kind (1 byte), tokens (4 bytes, a
 * big-endian float), content.
 * @param read if given, the provider's own compressed answer is stored, where the value has one. `decodeSource` needs the same.
 */
export async function encodeSource(
  { value, fetchedAt, tokens }: StoredSource,
  read?: ReadAnswer,
): Promise<Buffer> {
  const head = Buffer.alloc(HEAD_BYTES);
  head.writeDoubleBE(fetchedAt);
  head.writeFloatBE(tokens, 9);
  if (Buffer.isBuffer(value)) {
    head.writeUInt8(BYTES, 8);
    return Buffer.concat([head, value]);
  }
  const answer = read ? answerOf(value) : null;
  const { encoding, bytes } = answer ?? (await compress(await stringifyJsonBytes(value)));
  head.writeUInt8(KINDS[encoding] + (answer ? ANSWER : 0), 8);
  return Buffer.concat([head, bytes]);
}

export async function decodeSource(bytes: Buffer, read?: ReadAnswer): Promise<StoredSource> {
  const fetchedAt = bytes.readDoubleBE();
  const kind = bytes.readUInt8(8);
  const tokens = bytes.readFloatBE(9);
  const content = bytes.subarray(HEAD_BYTES);
  if (kind === BYTES) return { value: content, fetchedAt, tokens };
  const isAnswer = kind >= ANSWER;
  const ofContent = isAnswer ? kind - ANSWER : kind;
  const encoding = ofContent === KINDS.br ? 'br' : ofContent === KINDS.gzip ? 'gzip' : 'identity';
  const parsed = await parseJsonBytes(await decompress({ encoding, bytes: content }));
  if (!isAnswer) return { value: parsed, fetchedAt, tokens };
  if (!read) throw new Error('the stored answer of a provider cannot be read');
  return { value: read(parsed) ?? null, fetchedAt, tokens };
}
