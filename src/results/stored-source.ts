import { parseJsonBytes, stringifyJsonBytes } from '../platform/json-bytes.ts';
import { type Compressed, compress, decompress } from './compression.ts';

/** Raw data of one source, as upstream returned it. */
export interface StoredSource {
  /** Parsed JSON, or the bytes of a picture; null if upstream had no data. */
  value: unknown;
  /** Unix milliseconds. */
  fetchedAt: number;
  /** Tokens that fetching it cost. */
  tokens: number;
}

const HEAD_BYTES = 13;

const BYTES = 2;
const KINDS: Record<Compressed['encoding'], number> = { identity: 0, gzip: 1, br: 3 };

/**
 * Layout: fetch time (8 bytes, a big-endian double, which a Redis script reads), kind (1 byte), tokens (4 bytes, a
 * big-endian float), content.
 */
export async function encodeSource({ value, fetchedAt, tokens }: StoredSource): Promise<Buffer> {
  const head = Buffer.alloc(HEAD_BYTES);
  head.writeDoubleBE(fetchedAt);
  head.writeFloatBE(tokens, 9);
  if (Buffer.isBuffer(value)) {
    head.writeUInt8(BYTES, 8);
    return Buffer.concat([head, value]);
  }
  const { encoding, bytes } = await compress(await stringifyJsonBytes(value));
  head.writeUInt8(KINDS[encoding], 8);
  return Buffer.concat([head, bytes]);
}

export async function decodeSource(bytes: Buffer): Promise<StoredSource> {
  const fetchedAt = bytes.readDoubleBE();
  const kind = bytes.readUInt8(8);
  const tokens = bytes.readFloatBE(9);
  const content = bytes.subarray(HEAD_BYTES);
  if (kind === BYTES) return { value: content, fetchedAt, tokens };
  const encoding = kind === KINDS.br ? 'br' : kind === KINDS.gzip ? 'gzip' : 'identity';
  const value = await parseJsonBytes(await decompress({ encoding, bytes: content }));
  return { value, fetchedAt, tokens };
}
