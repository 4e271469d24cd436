import { kMaxLength } from 'node:buffer';
import { promisify } from 'node:util';
import zlib from 'node:zlib';
import { isTurnOver, nextTurn } from '../platform/turn.ts';
import { appendCrc32 } from './crc32.ts';

export const gunzip = promisify(zlib.gunzip);
const deflateRaw = promisify(zlib.deflateRaw);
const brotli = promisify(zlib.brotliCompress);

/** Compresses bytes so that the data ends at a byte and further data may follow. */
export function deflateFlushed(bytes: Buffer): Promise<Buffer> {
  return deflateRaw(bytes, { finishFlush: zlib.constants.Z_SYNC_FLUSH });
}

const SMALLEST_PIECE_BYTES = 16_384;
const LARGEST_PIECE_BYTES = 1_048_576;

/** Returns the size of a piece of output. Each piece takes a round trip to another thread, so one should hold everything. */
function pieceBytes(expected: number): number {
  return Math.min(Math.max(Math.ceil(expected) + 1, SMALLEST_PIECE_BYTES), LARGEST_PIECE_BYTES);
}

/** Compressing smaller bodies costs more than it saves. */
const SMALLEST_BYTES = 4096;

export interface Packed {
  encoding: 'identity' | 'gzip';
  bytes: Buffer;
}

/** Bytes as this service stores them for itself. */
export interface Compressed {
  encoding: 'identity' | 'gzip' | 'br';
  bytes: Buffer;
}

/** At this quality, Brotli takes a third of the time of gzip's fastest level, and its output is smaller. */
const FASTEST = { [zlib.constants.BROTLI_PARAM_QUALITY]: 1 };

/** Compresses an internal body off the event loop, if that makes it smaller. */
export async function compress(body: Buffer): Promise<Compressed> {
  if (body.length < SMALLEST_BYTES) return { encoding: 'identity', bytes: body };
  return {
    encoding: 'br',
    bytes: await brotli(body, { params: FASTEST, chunkSize: pieceBytes(body.length / 2) }),
  };
}

/**
 * Compresses the common rest of bodies for clients, off the event loop, if that makes them smaller. Bodies that differ
 * only in their beginning share the compressed rest, which takes nearly all of the time.
 * @returns a function that creates the body with a beginning of less than 64 KiB.
 */
export async function packAfter(
  rest: Buffer,
  effort = effortFor(rest),
): Promise<(beginning: Buffer) => Packed> {
  if (rest.length < SMALLEST_BYTES)
    return (beginning) => ({ encoding: 'identity', bytes: Buffer.concat([beginning, rest]) });
  const deflated = await deflateRaw(rest, { ...effort, chunkSize: pieceBytes(rest.length / 2) });
  const crc = await crcOf(rest);
  return (beginning) => ({
    encoding: 'gzip',
    bytes: gzipOf(beginning, { length: rest.length, crc, deflated }),
  });
}

const CRC_PIECE_BYTES = 1_048_576;

/** Computes a checksum. While it reads a large body, other work has its turns. */
async function crcOf(bytes: Buffer): Promise<number> {
  let crc = 0;
  for (let at = 0; at < bytes.length; at += CRC_PIECE_BYTES) {
    if (isTurnOver()) await nextTurn();
    crc = zlib.crc32(bytes.subarray(at, at + CRC_PIECE_BYTES), crc);
  }
  return crc;
}

/** Level 6 takes a quarter more time for most bodies of up to 30 KB and twice as much for histories, to save 3 %. */
const SMALL_LEVEL = 4;

/** Larger bodies are compressed in a third of the time, to about a tenth more. */
const LARGE_BYTES = 32_768;

/** One byte in so many is read to find out what a body consists of. A prime, so that it follows no pattern. */
const SAMPLED = 61;

/** A body with this share of digits and commas consists of price histories, in which repetitions are short. */
const SHARE_OF_HISTORIES = 0.9;

function effortFor(body: Buffer): zlib.ZlibOptions {
  if (body.length < LARGE_BYTES) return { level: SMALL_LEVEL };
  let samples = 0;
  let numbers = 0;
  for (let i = 0; i < body.length; i += SAMPLED) {
    const byte = body[i] ?? 0;
    samples += 1;
    if (byte === 0x2c || (byte >= 0x30 && byte <= 0x39)) numbers += 1;
  }
  const isHistory = numbers >= SHARE_OF_HISTORIES * samples;
  return { level: 1, ...(isHistory ? { strategy: zlib.constants.Z_HUFFMAN_ONLY } : {}) };
}

/** RFC 1952: magic number, method deflate, no flags, no time, no extra flags, system Unix. */
const GZIP_HEADER = Buffer.from([0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3]);
const CHECKSUMS_BYTES = 8;
const STORED_BLOCK_HEAD_BYTES = 5;

/** Builds one gzip stream: the beginning as a stored block (RFC 1951, 3.2.4), then the compressed rest. */
function gzipOf(beginning: Buffer, rest: { length: number; crc: number; deflated: Buffer }): Buffer {
  const block = Buffer.alloc(STORED_BLOCK_HEAD_BYTES);
  block.writeUInt16LE(beginning.length, 1);
  block.writeUInt16LE(~beginning.length & 0xffff, 3);
  const checksums = Buffer.alloc(CHECKSUMS_BYTES);
  checksums.writeUInt32LE(appendCrc32(zlib.crc32(beginning), rest.crc, rest.length), 0);
  checksums.writeUInt32LE((beginning.length + rest.length) % 2 ** 32, 4);
  return Buffer.concat([GZIP_HEADER, block, beginning, rest.deflated, checksums]);
}

/** A compression of HTTP. */
export type Compression = 'gzip' | 'deflate' | 'br';

const DECOMPRESS = { gzip: gunzip, deflate: promisify(zlib.inflate), br: promisify(zlib.brotliDecompress) };
const DECOMPRESS_AT_ONCE = {
  gzip: zlib.gunzipSync,
  deflate: zlib.inflateSync,
  br: zlib.brotliDecompressSync,
};

/** Decompressing up to this blocks for half a millisecond, and costs half as much as in another thread. */
const SMALL_BYTES = 262_144;

/** The decompressed bytes are more than is allowed. */
export class TooLargeError extends Error {}

/** Decompresses, off the event loop what is not small. @throws TooLargeError; an error of zlib if the bytes are malformed. */
export async function decompress(
  { encoding, bytes }: { encoding: Compression | 'identity'; bytes: Buffer },
  maxBytes: number = kMaxLength,
): Promise<Buffer> {
  if (encoding === 'identity') return bytes;
  const expected = sizeHint(encoding, bytes);
  const chunkSize = pieceBytes(expected);
  try {
    if (expected <= SMALL_BYTES && maxBytes >= SMALL_BYTES)
      return DECOMPRESS_AT_ONCE[encoding](bytes, { chunkSize, maxOutputLength: SMALL_BYTES });
  } catch (error) {
    if (!isTooLarge(error)) throw error;
  }
  try {
    return await DECOMPRESS[encoding](bytes, { chunkSize, maxOutputLength: maxBytes });
  } catch (error) {
    throw isTooLarge(error) ? new TooLargeError(`more than ${maxBytes} bytes`) : error;
  }
}

function isTooLarge(error: unknown): boolean {
  return (error as NodeJS.ErrnoException).code === 'ERR_BUFFER_TOO_LARGE';
}

/** Returns about how many bytes come out. RFC 1952: gzip ends with the size of its content. */
function sizeHint(encoding: Compression, bytes: Buffer): number {
  return encoding === 'gzip' && bytes.length >= 4 ? bytes.readUInt32LE(bytes.length - 4) : 8 * bytes.length;
}
