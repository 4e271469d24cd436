import { createHash } from 'node:crypto';
import { appendFileSync, existsSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { extname } from 'node:path';
import { SingleBar } from 'cli-progress';
import Papa from 'papaparse';
import { InvalidRequestError, QuotaError } from '../errors.ts';
import type { OperationName, TableFormat } from '../generated/operations.ts';
import { stringifyJson } from '../json.ts';
import type { Souk } from '../souk.ts';

export interface BatchFile {
  /** A CSV file with a header: each column is a parameter, each row an item. */
  input: string;
  operation: OperationName;
  /** Parameters of all items. */
  params: Readonly<Record<string, string>>;
  /** `.csv`, `.xlsx` or `.parquet`: a table, written at the end. Otherwise one line of JSON for each item in order, written while the batch runs. */
  out: string;
  /** The rows of a table. */
  table?: string | undefined;
  maxUnits: number | undefined;
}

/** The forms of files by their ending. */
const TABLES: Readonly<Record<string, TableFormat>> = {
  '.csv': 'csv',
  '.xlsx': 'xlsx',
  '.parquet': 'parquet',
};

/**
 * What a batch leaves next to its output, so that the command can continue it. The key is written before the batch is created: an
 * interruption in between does not lead to a second batch, which would be charged again.
 */
interface Started {
  idempotencyKey: string;
  /** Hash of operation, items and options. */
  request: string;
  batchId?: string;
}

/**
 * Runs a batch for the rows of a file, with a progress bar. Run again after an interruption, it continues the same batch.
 * @returns the number of failed items.
 */
export async function runBatch(souk: Souk, file: BatchFile, signal: AbortSignal): Promise<number> {
  const format = TABLES[extname(file.out).toLowerCase()];
  if (file.table !== undefined && !format)
    throw new Error(`--table: needs a file ${Object.keys(TABLES).join(', ')}, got "${file.out}"`);
  const statePath = `${file.out}.souk.json`;
  const batchId = await start(souk, file, statePath);
  const bar = new SingleBar({
    format: '[{bar}] {percentage}% | {value} of {total} items',
    stream: process.stderr,
  });
  try {
    const { counts } = await souk.batches.get(batchId, { signal });
    bar.start(counts.items, 0);
    const onProgress = ({ counts: { done, failed, cancelled } }: { counts: typeof counts }) =>
      bar.update(done + failed + cancelled);
    if (!format) await writeLines(souk, batchId, file.out, signal, (count) => bar.update(count));
    const batch = await souk.batches.wait(batchId, { signal, onProgress });
    if (format) await writeTable(souk, batchId, { ...file, format }, signal);
    rmSync(statePath);
    return batch.counts.failed;
  } finally {
    bar.stop();
  }
}

/** Returns the id of the batch that an earlier run has created, or creates it. */
async function start(souk: Souk, file: BatchFile, statePath: string): Promise<string> {
  const { operation, maxUnits } = file;
  const body = { operation, items: itemsOf(file), ...(maxUnits === undefined ? {} : { maxUnits }) };
  const request = createHash('sha256').update(stringifyJson(body)).digest('hex');
  const earlier = existsSync(statePath) ? (JSON.parse(readFileSync(statePath, 'utf8')) as Started) : null;
  if (earlier && earlier.request !== request)
    throw new Error(
      `${statePath} is of a batch with other items or options: run the same command as before, or delete this file to start a new batch.`,
    );
  if (earlier?.batchId !== undefined) return earlier.batchId;
  const started = earlier ?? { idempotencyKey: crypto.randomUUID(), request };
  remember(statePath, started);
  try {
    const { batchId } = await souk.batches.create({ ...body, idempotencyKey: started.idempotencyKey });
    if (existsSync(file.out)) rmSync(file.out);
    remember(statePath, { ...started, batchId });
    return batchId;
  } catch (error) {
    if (!earlier && isRefusal(error)) rmSync(statePath);
    throw error;
  }
}

function itemsOf({ input, params }: BatchFile): Record<string, string>[] {
  const { data: rows, errors } = Papa.parse<Record<string, string>>(readFileSync(input, 'utf8'), {
    header: true,
    skipEmptyLines: true,
  });
  const [problem] = errors.filter(({ type }) => type !== 'Delimiter');
  if (problem) throw new Error(`${input}: row ${problem.row ?? 1}: ${problem.message}`);
  // An empty cell leaves its parameter to those of all items, or to its default.
  const given = (row: Record<string, string>) => Object.entries(row).filter(([, cell]) => cell !== '');
  return rows.map((row) => ({ ...params, ...Object.fromEntries(given(row)) }));
}

function remember(statePath: string, started: Started): void {
  // Renamed when it is complete, so that an interruption leaves no half of it.
  writeFileSync(`${statePath}.new`, stringifyJson(started));
  renameSync(`${statePath}.new`, statePath);
}

/** Whether each attempt of the request was refused, so that none has created a batch. */
function isRefusal(error: unknown): boolean {
  return (
    error instanceof InvalidRequestError || (error instanceof QuotaError && error.code === 'QUOTA_MAX_UNITS')
  );
}

/** Writes a table to a file, which appears when it is complete. */
async function writeTable(
  souk: Souk,
  batchId: string,
  { out, format, table }: BatchFile & { format: TableFormat },
  signal: AbortSignal,
) {
  const { stream } = await souk.batches.table(batchId, { format, table: table as never, signal });
  await writeFile(`${out}.part`, stream);
  renameSync(`${out}.part`, out);
}

/** Appends results to a file that may have some of them. */
async function writeLines(
  souk: Souk,
  batchId: string,
  out: string,
  signal: AbortSignal,
  onResult: (count: number) => void,
) {
  const complete = existsSync(out) ? readFileSync(out, 'utf8').split('\n').slice(0, -1) : [];
  const cursor =
    complete.length > 0 ? (JSON.parse(complete.at(-1) ?? '') as { index: number }).index : undefined;
  // The last line of an interrupted run may lack its end.
  writeFileSync(out, complete.map((line) => `${line}\n`).join(''));
  let count = complete.length;
  for await (const result of souk.batches.results(batchId, { cursor, signal })) {
    appendFileSync(out, `${stringifyJson(result)}\n`);
    count += 1;
    onResult(count);
  }
}
