import { isUtf8 } from 'node:buffer';
import type { Readable } from 'node:stream';

/** Thrown where a file is not UTF-8. Replacing invalid bytes would change a term into another one. */
export class NotUtf8 extends Error {}

/** Returns the bytes of a file in pieces of whole characters. @throws NotUtf8 after the last valid piece. */
export async function* utf8Pieces(file: Readable): AsyncGenerator<Buffer> {
  let rest: Buffer = Buffer.alloc(0);
  for await (const chunk of file as AsyncIterable<Buffer>) {
    const bytes = rest.length === 0 ? chunk : Buffer.concat([rest, chunk]);
    const end = bytes.length - unfinishedBytes(bytes);
    yield* valid(bytes.subarray(0, end));
    rest = bytes.subarray(end);
  }
  yield* valid(rest);
}

function* valid(bytes: Buffer): Generator<Buffer> {
  if (isUtf8(bytes)) {
    if (bytes.length > 0) yield bytes;
    return;
  }
  // The longest valid beginning: the faults of the rows before the invalid text are reported first.
  let length = 0;
  for (let step = bytes.length; step > 0; ) {
    if (isUtf8(bytes.subarray(length, length + step))) length += step;
    else step >>= 1;
  }
  yield bytes.subarray(0, length);
  throw new NotUtf8();
}

/** Returns the number of bytes at the end that begin a character whose other bytes have not arrived. */
function unfinishedBytes(bytes: Buffer): number {
  for (let back = 1; back <= Math.min(3, bytes.length); back += 1) {
    const byte = bytes[bytes.length - back] ?? 0;
    if (byte < 0x80) return 0;
    if (byte >= 0xc0) return lengthOf(byte) > back ? back : 0;
  }
  return 0;
}

/** Returns the number of bytes of a character by its first byte. */
function lengthOf(lead: number): number {
  if (lead >= 0xf0) return 4;
  return lead >= 0xe0 ? 3 : 2;
}
