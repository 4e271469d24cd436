import { kMaxLength } from 'node:buffer';
import { promisify } from 'node:util';
import zlib from 'node:zlib';

export const gunzip = promisify(zlib.gunzip);

export const gzip = promisify(zlib.gzip);

const deflateRaw = promisify(zlib.deflateRaw);

const brotli = promisify(zlib.brotliCompress);

const SMALLEST_PIECE_BYTES = 16_384;

const LARGEST_PIECE_BYTES = 1_048_576;

/** Returns the size of a piece of output. Each piece takes a round trip to another thread, so one should hold everything. */
function pieceBytes(expected: number): number {
  return Math.min(Math.max(Math.ceil(expected) + 1, SMALLEST_PIECE_BYTES), LARGEST_PIECE_BYTES);
}

/** Compressing smaller bodies costs more than it saves. */
const SMALLEST_BYTES = 4096;

export interface EncodedBody {
  encoding: 'identity' | 'gzip';
  bytes: Buffer;
}

/** An answer as a provider sent it. */
export interface Compressed {
  encoding: 'identity' | 'gzip' | 'br';
  bytes: Buffer;
}

/** At this quality, Brotli takes a third of the time of gzip's fastest level, and its output is smaller. */
const FASTEST = { [zlib.constants.BROTLI_PARAM_QUALITY]: 1 };

/** Compresses an internal body off the event loop, if that makes it smaller. */
export async function compress(body: Buffer): Promise<{ encoding: 'identity' | 'br'; bytes: Buffer }> {
  if (body.length < SMALLEST_BYTES) return { encoding: 'identity', bytes: body };
  return {
    encoding: 'br',
    bytes: await brotli(body, { params: FASTEST, chunkSize: pieceBytes(body.length / 2) }),
  };
}

/** Higher levels take up to twice the time for price histories, to save 8 %. */
const LEVEL = 1;

/** RFC 1952: magic number, method deflate, no flags, no time, no extra flags, system Unix. */
const GZIP_HEADER = Buffer.from([0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3]);

/**
 * Compresses the common rest of several bodies for clients off the event loop, if that makes them smaller. For a product
 * with all its histories, compressing each body takes a fifth of the processor time of its call.
 * @returns a function that creates the body with a short beginning.
 */
export async function compressForClients(rest: Buffer): Promise<(head: Buffer) => EncodedBody> {
  if (rest.length < SMALLEST_BYTES)
    return (head) => ({ encoding: 'identity', bytes: Buffer.concat([head, rest]) });
  const deflated = await deflateRaw(rest, { level: LEVEL, chunkSize: pieceBytes(rest.length / 2) });
  return (head) => {
    // A flushed beginning ends at a byte, so the stream goes on with the compressed rest.
    const start = zlib.deflateRawSync(head, { finishFlush: zlib.constants.Z_SYNC_FLUSH });
    const trailer = Buffer.alloc(8);
    trailer.writeUInt32LE(zlib.crc32(rest, zlib.crc32(head)));
    trailer.writeUInt32LE((head.length + rest.length) % 2 ** 32, 4);
    return { encoding: 'gzip', bytes: Buffer.concat([GZIP_HEADER, start, deflated, trailer]) };
  };
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

/** Decompresses bytes; large ones off the event loop. @throws TooLargeError; an error of zlib if the bytes are malformed. */
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
