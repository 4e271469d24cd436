import { promisify } from 'node:util';
import zlib from 'node:zlib';

const gzip = promisify(zlib.gzip);
export const gunzip = promisify(zlib.gunzip);
const deflateRaw = promisify(zlib.deflateRaw);

/** Compresses bytes so that the data ends at a byte and further data may follow. */
export function deflateFlushed(bytes: Buffer): Promise<Buffer> {
  return deflateRaw(bytes, { finishFlush: zlib.constants.Z_SYNC_FLUSH });
}

/** Compressing smaller bodies costs more than it saves. */
const SMALLEST_BYTES = 4096;

export interface Packed {
  encoding: 'identity' | 'gzip';
  bytes: Buffer;
}

/** Compresses an internal body off the event loop, if that makes it smaller. */
export async function pack(body: Buffer): Promise<Packed> {
  if (body.length < SMALLEST_BYTES) return { encoding: 'identity', bytes: body };
  return { encoding: 'gzip', bytes: await gzip(body, { level: 1 }) };
}

/**
 * Compresses the common rest of bodies for clients, off the event loop, if that makes them smaller. Bodies that differ
 * only in their beginning share the compressed rest, which takes nearly all of the time.
 * @returns a function that creates the body with a beginning of less than 64 KiB.
 */
export async function packAfter(rest: Buffer): Promise<(beginning: Buffer) => Packed> {
  if (rest.length < SMALLEST_BYTES)
    return (beginning) => ({ encoding: 'identity', bytes: Buffer.concat([beginning, rest]) });
  const deflated = await deflateRaw(rest, { level: 6 });
  return (beginning) => ({ encoding: 'gzip', bytes: gzipOf(beginning, rest, deflated) });
}

/** RFC 1952: magic number, method deflate, no flags, no time, no extra flags, system Unix. */
const GZIP_HEADER = Buffer.from([0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3]);
const CHECKSUMS_BYTES = 8;
const STORED_BLOCK_HEAD_BYTES = 5;

/** Builds one gzip stream: the beginning as a stored block (RFC 1951, 3.2.4), then the compressed rest. */
function gzipOf(beginning: Buffer, rest: Buffer, deflatedRest: Buffer): Buffer {
  const block = Buffer.alloc(STORED_BLOCK_HEAD_BYTES);
  block.writeUInt16LE(beginning.length, 1);
  block.writeUInt16LE(~beginning.length & 0xffff, 3);
  const checksums = Buffer.alloc(CHECKSUMS_BYTES);
  checksums.writeUInt32LE(zlib.crc32(rest, zlib.crc32(beginning)), 0);
  checksums.writeUInt32LE((beginning.length + rest.length) % 2 ** 32, 4);
  return Buffer.concat([GZIP_HEADER, block, beginning, deflatedRest, checksums]);
}

export async function unpack({ encoding, bytes }: Packed): Promise<Buffer> {
  return encoding === 'gzip' ? gunzip(bytes) : bytes;
}
