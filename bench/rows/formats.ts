import { request } from 'undici';
import { TABLE_FORMAT_NAMES, type TableFormat } from '../../src/operations/tables/formats.ts';
import { reportOf } from '../probe-report.ts';
import { peakMbOfChildren } from '../process-times.ts';
import type { Row } from '../row.ts';
import type { Services } from '../services.ts';
import { bodyOfBatch, finished, ITEMS, readResults } from './batch.ts';

/** One refill is enough for all items. The provider starts with the reserve that batches leave, so that none begins before it. */
const TOKENS_PER_MINUTE = 1_000_000;

const MOST_MEMORY_MB = 256;
const LONGEST_BLOCK_MS = 50;

/** The lines of a text with a row for each product. */
const LINES: Partial<Record<TableFormat, number>> = { csv: ITEMS + 1, ndjson: ITEMS };

/**
 * Compares memory and event loop of a gateway that sends 100,000 products of a batch in each form with what it may use. The memory is
 * that of the gateway beyond what it has before the first table, and that of the process that writes the table; the blocks are those of
 * the gateway's own loop, where requests of others wait.
 */
export async function formatRows(services: Services): Promise<Row[]> {
  const env = { TOKENS_PER_MINUTE: String(TOKENS_PER_MINUTE) };
  const upstream = await services.start('bench/metered-upstream.ts', { env });
  // The provider refills from now on. A worker asks it at its start when that is.
  upstream.child.send('reset');
  const { url, gateway } = await services.startSouk(upstream.ready);
  const [key = ''] = await services.keys(1);
  const headers = { 'x-api-key': key, 'content-type': 'application/json' };
  const startedAt = performance.now();
  const created = await request(`${url}/api/batches`, { method: 'POST', headers, body: bodyOfBatch() });
  const { data } = (await created.body.json()) as { data: { links: { self: string } } };
  const batch = await finished(`${url}${data.links.self}`, headers);
  const seconds = (performance.now() - startedAt) / 1000;
  console.log(
    `The batch took ${seconds.toFixed(0)} s with its wait for the refill, ${Math.round(ITEMS / seconds)} items a second.`,
  );

  gateway.send('reset');
  const { highestMemoryMb: before } = await reportOf(gateway);

  const rows: Row[] = [];
  for (const format of TABLE_FORMAT_NAMES) {
    const address = `${url}${batch.links.results}?format=${format}&table=products`;
    // The first table compiles the code, as in a running process.
    if (rows.length === 0) await readResults(address, headers);
    gateway.send('reset');
    const { bytes, lines, ms } = await readResults(address, headers);
    const { highestMemoryMb, longestBlockMs, blockP99Ms } = await reportOf(gateway);
    const writerMb = await peakMbOfChildren(gateway.pid ?? 0);
    const memoryMb = Math.max(0, highestMemoryMb - before) + writerMb;
    const isWhole = bytes > ITEMS && (LINES[format] ?? lines) === lines;
    rows.push({
      what: `${ITEMS} products of a batch as ${format}: memory and longest block of the gateway's loop / what they may be`,
      ours: `${memoryMb.toFixed(0)} MB, of them ${writerMb.toFixed(0)} of the process that writes tables (the whole gateway ${highestMemoryMb.toFixed(0)}); ${longestBlockMs.toFixed(0)} ms (p99 ${blockP99Ms.toFixed(0)} ms); ${(bytes / 1e6).toFixed(1)} MB in ${ms} ms`,
      baseline: `${MOST_MEMORY_MB} MB, ${LONGEST_BLOCK_MS} ms`,
      ratio: Math.max(memoryMb / MOST_MEMORY_MB, longestBlockMs / LONGEST_BLOCK_MS),
      aim: 'at most 1',
      failures: batch.counts.failed + (isWhole ? 0 : 1),
    });
  }
  return rows;
}
