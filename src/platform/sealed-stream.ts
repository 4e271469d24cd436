import { createCipheriv, createDecipheriv, createHash, hkdfSync, randomBytes } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { open } from 'node:fs/promises';

/**
 * The form of an encrypted file: a header (a mark, the id of the key, a salt), then pieces of 64 KiB, each encrypted with
 * AES-256-GCM under a key of this file. The nonce of a piece is its number and whether it is the last one, so that pieces that are
 * missing, repeated or in another order are found, as well as a file that ends too early or goes on.
 */
const MARK = Buffer.from('SOUKBK01');
const [ID_BYTES, SALT_BYTES, TAG_BYTES] = [4, 32, 16];
const HEADER_BYTES = MARK.length + ID_BYTES + SALT_BYTES;
const PIECE_BYTES = 65_536;
const ALGORITHM = 'aes-256-gcm';

/** A file cannot be decrypted. The message continues a sentence that begins with its name. */
export class UnreadableFile extends Error {}

type Bytes = AsyncIterable<Buffer>;

/** Encrypts a stream. @param key any text that cannot be guessed. */
export async function* sealStream(source: Bytes, key: string): AsyncGenerator<Buffer> {
  const salt = randomBytes(SALT_BYTES);
  const header = Buffer.concat([MARK, idOf(key), salt]);
  const fileKey = fileKeyOf(key, salt);
  yield header;
  let number = 0;
  for await (const { piece, isLast } of piecesOf(source, PIECE_BYTES)) {
    const cipher = createCipheriv(ALGORITHM, fileKey, nonceOf(number, isLast)).setAAD(header);
    const sealed = cipher.update(piece);
    cipher.final();
    yield Buffer.concat([sealed, cipher.getAuthTag()]);
    number += 1;
  }
}

/** Returns whether a file was written by `sealStream`. */
export async function isSealed(file: string): Promise<boolean> {
  return (await headerOf(file)).subarray(0, MARK.length).equals(MARK);
}

/** Decrypts a file of `sealStream`. @param keys one of them has encrypted it. @throws UnreadableFile, after the intact pieces. */
export async function* openSealed(file: string, keys: readonly string[]): AsyncGenerator<Buffer> {
  const header = await headerOf(file);
  if (header.length < HEADER_BYTES) throw new UnreadableFile('ends within its header');
  const id = header.subarray(MARK.length, MARK.length + ID_BYTES);
  const key = keys.find((one) => idOf(one).equals(id));
  if (key === undefined) throw new UnreadableFile('was encrypted with a key that SECRET_KEY does not have');
  const fileKey = fileKeyOf(key, header.subarray(MARK.length + ID_BYTES));
  let number = 0;
  const stored = createReadStream(file, { start: HEADER_BYTES });
  for await (const { piece, isLast } of piecesOf(stored, PIECE_BYTES + TAG_BYTES)) {
    yield openPiece(piece, { fileKey, header, number, isLast });
    number += 1;
  }
}

function openPiece(
  piece: Buffer,
  { fileKey, header, number, isLast }: { fileKey: Buffer; header: Buffer; number: number; isLast: boolean },
): Buffer {
  try {
    const end = piece.length - TAG_BYTES;
    const decipher = createDecipheriv(ALGORITHM, fileKey, nonceOf(number, isLast), {
      authTagLength: TAG_BYTES,
    });
    decipher.setAAD(header).setAuthTag(piece.subarray(end));
    const opened = decipher.update(piece.subarray(0, end));
    decipher.final();
    return opened;
  } catch {
    throw new UnreadableFile(`is damaged or incomplete: piece ${number + 1} is not the one that was written`);
  }
}

async function headerOf(file: string): Promise<Buffer> {
  const handle = await open(file);
  try {
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(HEADER_BYTES), 0, HEADER_BYTES, 0);
    return buffer.subarray(0, bytesRead);
  } finally {
    await handle.close();
  }
}

/** Cuts a stream into pieces of one size; only the last one may be shorter, and it is empty only if the stream is. */
async function* piecesOf(source: Bytes, size: number): AsyncGenerator<{ piece: Buffer; isLast: boolean }> {
  let held = Buffer.alloc(0);
  for await (const chunk of source) {
    held = Buffer.concat([held, chunk]);
    // A whole piece waits until it is known whether more follows.
    for (; held.length > size; held = held.subarray(size))
      yield { piece: held.subarray(0, size), isLast: false };
  }
  yield { piece: held, isLast: true };
}

function nonceOf(number: number, isLast: boolean): Buffer {
  const nonce = Buffer.alloc(12);
  nonce.writeBigUInt64BE(BigInt(number), 0);
  nonce.writeUInt8(isLast ? 1 : 0, 11);
  return nonce;
}

const idOf = (key: string) =>
  createHash('sha256')
    .update(derived(key, '', 'souk backup key id'))
    .digest()
    .subarray(0, ID_BYTES);

const fileKeyOf = (key: string, salt: Buffer) => derived(key, salt, 'souk backup');

const derived = (key: string, salt: Buffer | string, purpose: string) =>
  Buffer.from(hkdfSync('sha256', key, salt, purpose, 32));
