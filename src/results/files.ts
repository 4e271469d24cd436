import { v7 as uuid } from 'uuid';
import type { Database, Queryable } from '../platform/db/pool.ts';
import { firstRow, unixMs } from '../platform/db/rows.ts';
import { MINUTE_MS } from '../platform/durations.ts';
import { gunzip, gzip } from './compression.ts';

/** Bytes of a piece of a file before it is compressed. A range of a file reads the pieces that it touches. */
const PIECE_BYTES = 1_048_576;

/** The most bytes that a file may take in the database. */
const MAX_STORED_BYTES = 2_147_483_648;

/** At a higher level, the writer of a large file would mostly compress. */
const LEVEL = 1;

/** A content that has not grown for this long belongs to a writer that has ended. */
const ABANDONED_MS = 10 * MINUTE_MS;

/** What a file holds. */
export interface Content {
  contentId: string;
  contentType: string;
  isGzip: boolean;
  /** Bytes, decompressed. */
  size: number;
  facts: Record<string, unknown>;
  /** Unix milliseconds. */
  writtenAt: number;
}

/** A file of an account. Times are Unix milliseconds. */
export interface StoredFile extends Content {
  fileId: string;
  operation: string;
  originId: string;
  name: string;
  createdAt: number;
  expiresAt: number;
}

/** The content of a file takes more than `MAX_STORED_BYTES`. */
export class FileTooLarge extends Error {}

const CONTENT = `c.id as "contentId", c.content_type as "contentType", c.is_gzip as "isGzip", c.size, c.facts,
  ${unixMs('c.written_at')} as "writtenAt"`;

/** Returns the complete content with a key. */
export function findContent(database: Queryable, key: string) {
  return firstRow<Content>(
    database,
    `select ${CONTENT} from file_contents c where c.key = $1 and c.state = 'complete'`,
    [key],
  );
}

interface NewContent {
  key: string;
  contentType: string;
  isGzip: boolean;
  /** Returns what to note about the content when it is complete. */
  facts?(): Record<string, unknown>;
  /** Checked after each piece. */
  signals?: readonly AbortSignal[];
  now(): number;
}

/**
 * Writes a content, a piece at a time. What a failed writer has written is deleted, now or by `purgeFiles`.
 * @returns the content; that of another process which has completed the same one meanwhile, if there is one.
 * @throws FileTooLarge, or the reason of a signal.
 */
export async function writeContent(
  database: Database,
  content: NewContent,
  bytes: AsyncIterable<Buffer>,
): Promise<Content> {
  const { key, contentType, isGzip, facts, signals = [], now } = content;
  const id = uuid();
  await database.query(
    'insert into file_contents (id, key, content_type, is_gzip, written_at) values ($1, $2, $3, $4, $5)',
    [id, key, contentType, isGzip, new Date(now())],
  );
  try {
    let number = 0;
    let size = 0;
    let storedBytes = 0;
    for await (const piece of inPieces(bytes)) {
      for (const signal of signals) signal.throwIfAborted();
      const stored = isGzip ? await gzip(piece, { level: LEVEL }) : piece;
      size += piece.length;
      storedBytes += stored.length;
      if (storedBytes > MAX_STORED_BYTES) throw new FileTooLarge(`more than ${MAX_STORED_BYTES} bytes`);
      await addPiece(database, { id, number, stored, at: now() });
      number += 1;
    }
    for (const signal of signals) signal.throwIfAborted();
    await database.query(
      `update file_contents set state = 'complete', size = $2, stored_bytes = $3, facts = $4, written_at = $5 where id = $1`,
      [id, size, storedBytes, facts?.() ?? {}, new Date(now())],
    );
  } catch (error) {
    await database.query('delete from file_contents where id = $1', [id]).catch(() => {});
    if ((error as { code?: string }).code !== UNIQUE_VIOLATION) throw error;
  }
  const complete = await findContent(database, key);
  if (!complete) throw new Error(`the content ${key} was deleted`);
  return complete;
}

const UNIQUE_VIOLATION = '23505';

async function addPiece(
  database: Database,
  { id, number, stored, at }: { id: string; number: number; stored: Buffer; at: number },
): Promise<void> {
  await database.query({
    name: 'add-file-piece',
    text: `with content as (update file_contents set written_at = $4 where id = $1 returning id)
      insert into file_pieces (content_id, number, bytes) select id, $2, $3 from content`,
    values: [id, number, stored, new Date(at)],
  });
}

/** Divides bytes into pieces of PIECE_BYTES; the last one may be smaller. */
async function* inPieces(bytes: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let parts: Buffer[] = [];
  let length = 0;
  for await (let part of bytes) {
    while (length + part.length >= PIECE_BYTES) {
      const fitting = PIECE_BYTES - length;
      yield Buffer.concat([...parts, part.subarray(0, fitting)]);
      parts = [];
      length = 0;
      part = part.subarray(fitting);
    }
    if (part.length > 0) parts.push(part);
    length += part.length;
  }
  if (length > 0) yield Buffer.concat(parts);
}

/** Yields the bytes of a content from the first to the last one, both included. */
export async function* readContent(
  database: Queryable,
  { contentId, isGzip }: Content,
  first: number,
  last: number,
): AsyncGenerator<Buffer> {
  for (let number = Math.floor(first / PIECE_BYTES); number * PIECE_BYTES <= last; number += 1) {
    const from = Math.max(0, first - number * PIECE_BYTES);
    const to = Math.min(PIECE_BYTES, last + 1 - number * PIECE_BYTES);
    const part = isGzip ? 'bytes' : 'substring(bytes from $3 for $4)';
    const { rows } = await database.query<{ bytes: Buffer }>({
      name: `read-file-piece-${isGzip ? 'gzip' : 'plain'}`,
      text: `select ${part} as bytes from file_pieces where content_id = $1 and number = $2`,
      values: [contentId, number, ...(isGzip ? [] : [from + 1, to - from])],
    });
    const bytes = rows[0]?.bytes;
    if (!bytes) throw new Error(`piece ${number} of the content ${contentId} was deleted`);
    yield isGzip ? (await gunzip(bytes)).subarray(from, to) : bytes;
  }
}

const FILE = `f.id as "fileId", f.operation, f.origin_id as "originId", f.name, ${unixMs('f.created_at')} as "createdAt",
  ${unixMs('f.expires_at')} as "expiresAt", ${CONTENT} from files f join file_contents c on c.id = f.content_id`;

/**
 * Gives an account a file with a content; the same one if it has one of this origin.
 * @returns null if the content was deleted meanwhile.
 */
export async function addFile(
  database: Queryable,
  file: {
    accountId: number;
    contentId: string;
    operation: string;
    originId: string;
    name: string;
    createdAt: number;
    expiresAt: number;
  },
) {
  const { accountId, contentId, operation, originId, name, createdAt, expiresAt } = file;
  await database.query(
    `insert into files (id, account_id, content_id, operation, origin_id, name, created_at, expires_at)
     select $1, $2, id, $4, $5, $6, $7, $8 from file_contents where id = $3 for key share
     on conflict (account_id, origin_id, content_id) do update set expires_at = greatest(files.expires_at, excluded.expires_at)`,
    [uuid(), accountId, contentId, operation, originId, name, new Date(createdAt), new Date(expiresAt)],
  );
  return firstRow<StoredFile>(
    database,
    `select ${FILE} where f.account_id = $1 and f.origin_id = $2 and f.content_id = $3`,
    [accountId, originId, contentId],
  );
}

/** Returns a file of an account; null if it has none with this id, or it has expired. */
export function findFile(database: Queryable, accountId: number, fileId: string, now: number) {
  return firstRow<StoredFile>(
    database,
    `select ${FILE} where f.account_id = $1 and f.id = $2 and f.expires_at > $3`,
    [accountId, fileId, new Date(now)],
  );
}

/** Deletes expired files, the contents that no file has any more, and what writers have left that ended before the last piece. */
export async function purgeFiles(database: Queryable, now: number): Promise<void> {
  await database.query('delete from files where expires_at < $1', [new Date(now)]);
  await database.query(
    `delete from file_contents c where written_at < $1
       and (state = 'writing' or not exists (select from files f where f.content_id = c.id))`,
    [new Date(now - ABANDONED_MS)],
  );
}
