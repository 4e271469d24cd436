import { promisify } from 'node:util';
import zlib from 'node:zlib';

export const gzip = promisify(zlib.gzip);
export const gunzip = promisify(zlib.gunzip);

/** Below this size compressing costs more than it saves. */
const SMALLEST_BYTES = 4096;

export interface Packed {
  encoding: 'identity' | 'gzip';
  bytes: Buffer;
}

/**
 * Compresses a body off the event loop where that helps.
 * @param level 6 for what many clients read, 1 for what only we read.
 */
export async function pack(body: Buffer, level: 1 | 6): Promise<Packed> {
  if (body.length < SMALLEST_BYTES) return { encoding: 'identity', bytes: body };
  return { encoding: 'gzip', bytes: await gzip(body, { level }) };
}

export async function unpack({ encoding, bytes }: Packed): Promise<Buffer> {
  return encoding === 'gzip' ? gunzip(bytes) : bytes;
}
