import { crc32 } from 'node:zlib';
import { deflateFlushed, gunzip } from '../results/compression.ts';
import { appendCrc32 } from '../results/crc32.ts';

/**
 * A stored piece of results is one gzip member whose compressed data ends at a byte, so that the data of several pieces
 * make one gzip stream without being compressed again. (Several members in a row are not enough: browsers read only the
 * first one.)
 *
 *     header, 10 bytes | data, ends with an empty stored block | empty final block, 2 bytes | CRC-32, 4 | length, 4
 */
const HEADER = Buffer.from([0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0xff]);
const FLUSHED = Buffer.from([0, 0, 0xff, 0xff]);
const FINAL_BLOCK = Buffer.from([3, 0]);
const CHECKSUMS_BYTES = 8;
const TAIL_BYTES = FINAL_BLOCK.length + CHECKSUMS_BYTES;

/** Compresses a piece of results for storing, off the event loop. */
export async function storedPiece(text: string | Buffer): Promise<Buffer> {
  const bytes = Buffer.from(text);
  const data = await deflateFlushed(bytes);
  return Buffer.concat([HEADER, data, FINAL_BLOCK, checksums(crc32(bytes), bytes.length)]);
}

/** Joins stored pieces to one gzip stream as they are. Pieces in another form of gzip are compressed again. */
export async function* joinPieces(pieces: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let crc = 0;
  let length = 0;
  yield HEADER;
  for await (const given of pieces) {
    const piece = isJoinable(given) ? given : await storedPiece(await gunzip(given));
    const tail = piece.length - CHECKSUMS_BYTES;
    const pieceLength = piece.readUInt32LE(tail + 4);
    crc = appendCrc32(crc, piece.readUInt32LE(tail), pieceLength);
    length = (length + pieceLength) % 2 ** 32;
    yield piece.subarray(HEADER.length, -TAIL_BYTES);
  }
  yield Buffer.concat([FINAL_BLOCK, checksums(crc, length)]);
}

function isJoinable(piece: Buffer): boolean {
  const end = piece.subarray(-TAIL_BYTES - FLUSHED.length, -CHECKSUMS_BYTES);
  return piece.subarray(0, HEADER.length).equals(HEADER) && end.equals(Buffer.concat([FLUSHED, FINAL_BLOCK]));
}

function checksums(crc: number, length: number): Buffer {
  const bytes = Buffer.alloc(CHECKSUMS_BYTES);
  bytes.writeUInt32LE(crc, 0);
  bytes.writeUInt32LE(length % 2 ** 32, 4);
  return bytes;
}
