import { Readable } from 'node:stream';
import { createGunzip } from 'node:zlib';
import { readCsvReport } from './csv-report.ts';
import { readJsonReport } from './json-report.ts';
import { type Report, ReportError } from './report.ts';

const GZIP_MAGIC = Buffer.from([0x1f, 0x8b]);
const INFLATED_CHUNK_BYTES = 262_144;

/** Detects the format of a report by its first bytes: JSON or CSV, plain or gzip. */
export async function openReport(stream: Readable): Promise<Report> {
  const file = await begin(stream);
  const plain = file.first.subarray(0, 2).equals(GZIP_MAGIC) ? await begin(inflated(file.whole)) : file;
  const start = plain.first
    .toString('utf8', 0, 64)
    .replace(/^\uFEFF/, '')
    .trimStart();
  return start.startsWith('{') ? readJsonReport(plain.whole) : readCsvReport(plain.whole);
}

function inflated(packed: Readable): Readable {
  const gunzip = createGunzip({ chunkSize: INFLATED_CHUNK_BYTES });
  packed.on('error', (error) => gunzip.destroy(error));
  return packed.pipe(gunzip);
}

/** Returns the first bytes of a stream, and the whole stream. @throws ReportError if it is empty. */
async function begin(stream: Readable): Promise<{ first: Buffer; whole: Readable }> {
  const chunks = stream[Symbol.asyncIterator]() as AsyncIterator<Buffer>;
  const { value: first, done } = await chunks.next();
  if (done) throw new ReportError('The file is empty.');
  async function* whole(): AsyncGenerator<Buffer> {
    yield first;
    for (let next = await chunks.next(); !next.done; next = await chunks.next()) yield next.value;
  }
  return { first, whole: Readable.from(whole(), { objectMode: false }) };
}

/** Converts a gzip error to a ReportError; other errors stay as they are. */
export function asReportError(error: unknown): unknown {
  const { code = '', message } = error as NodeJS.ErrnoException;
  if (code === 'Z_BUF_ERROR') return new ReportError('The file is incomplete: its gzip stream has no end.');
  return code.startsWith('Z_') ? new ReportError(`The file is not valid gzip: ${message}.`) : error;
}
