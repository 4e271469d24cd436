import { promisify } from 'node:util';
import zlib from 'node:zlib';

export const gzip = promisify(zlib.gzip);
export const gunzip = promisify(zlib.gunzip);
const deflateRaw = promisify(zlib.deflateRaw);

/** Below this size compressing costs more than it saves. */
const SMALLEST_BYTES = 4096;

export interface Packed {
  encoding: 'identity' | 'gzip';
  bytes: Buffer;
}

/** Compresses what only we read, off the event loop, where that helps. */
export async function pack(body: Buffer): Promise<Packed> {
  if (body.length < SMALLEST_BYTES) return { encoding: 'identity', bytes: body };
  return { encoding: 'gzip', bytes: await gzip(body, { level: 1 }) };
}

/**
 * Compresses what clients read, off the event loop, where that helps. Bodies that differ only in how they begin share the
 * rest, which takes nearly all the time there is to save: it is compressed once.
 * @returns what makes a body of a beginning of less than 64 KiB.
 */
export async function packAfter(rest: Buffer): Promise<(beginning: Buffer) => Packed> {
  if (rest.length < SMALLEST_BYTES)
    return (beginning) => ({ encoding: 'identity', bytes: Buffer.concat([beginning, rest]) });
  const deflated = await deflateRaw(rest, { level: 6 });
  return (beginning) => ({ encoding: 'gzip', bytes: gzipOf(beginning, rest, deflated) });
}

/** Magic, method (deflate), no flags, no time, no extra flags, made by Unix: RFC 1952. */
const GZIP_HEADER = Buffer.from([0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3]);
const CHECKSUMS_BYTES = 8;
const STORED_BLOCK_HEAD_BYTES = 5;

/** One gzip stream: the beginning as a stored block (RFC 1951, 3.2.4), then what was compressed without knowing it. */
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
