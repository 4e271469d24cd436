import type { ChildProcess } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import { request } from 'undici';
import type { BatchView } from '../../src/batches/batch.ts';
import type { MeterReport } from '../metered-upstream.ts';
import { type ProbeReport, reportOf } from '../probe-report.ts';
import type { Row } from '../row.ts';
import type { Services } from '../services.ts';

/** Items of a batch, each an ASIN. */
export const ITEMS = 100_000;
/** All items need three refills. The first two are measured, each until the next refill. */
const TOKENS_PER_MINUTE = 40_000;
const LOOK_EVERY_MS = 1_000;

/** Compares the tokens that a batch of 100,000 ASINs uses with the refill, which is all that it may use. */
export async function batchRows(services: Services): Promise<Row[]> {
  const env = { TOKENS_PER_MINUTE: String(TOKENS_PER_MINUTE) };
  const upstream = await services.start('bench/metered-upstream.ts', { env });
  const { url, gateway, worker } = await services.startSouk(upstream.ready);
  const [key = ''] = await services.keys(1);
  const headers = { 'x-api-key': key, 'content-type': 'application/json' };
  const body = bodyOfBatch();

  const send = async (path: string) => {
    const startedAt = performance.now();
    const reply = await request(`${url}${path}`, { method: 'POST', headers, body });
    const { data } = (await reply.body.json()) as { data: BatchView };
    return { ms: Math.round(performance.now() - startedAt), status: reply.statusCode, data };
  };
  // A warm-up, so that the code is compiled as in a running process.
  await send('/api/batches?dryRun=1');
  for (const process of [gateway, worker]) process.send('reset');
  const quoted = await send('/api/batches?dryRun=1');
  const reading = await reportsOf(gateway, worker);

  upstream.child.send('reset');
  for (const process of [gateway, worker]) process.send('reset');
  const created = await send('/api/batches');
  const batch = await finished(`${url}${created.data.links.self}`, headers);
  const feeding = await reportsOf(gateway, worker);
  const { accounts } = await reportOf<MeterReport>(upstream.child);
  const { spentByMinute = [], limited = 0 } = Object.values(accounts)[0] ?? {};
  const spent = spentByMinute.reduce((sum, tokens) => sum + tokens, 0);

  for (const process of [gateway, worker]) process.send('reset');
  const read = await readResults(`${url}${batch.links.results}`, headers);
  const sending = await reportsOf(gateway, worker);

  const failures =
    batch.counts.failed + limited + (read.lines === ITEMS ? 0 : 1) + (quoted.status === 200 ? 0 : 1);
  return [
    {
      figure: 'batch',
      what: `a batch of ${ITEMS} ASINs: tokens used / refilled`,
      ours: `${spent} tokens; ${described(feeding)}`,
      baseline: `${spentByMinute.length} refills of ${TOKENS_PER_MINUTE}`,
      ratio: spent / (spentByMinute.length * TOKENS_PER_MINUTE),
      aim: 'at least 0.98, memory flat',
      failures,
    },
    {
      what: 'batch creation: reading and pricing the items / total',
      ours: `${quoted.ms} ms; ${described(reading)}`,
      baseline: `${created.ms} ms`,
      ratio: quoted.ms / created.ms,
      aim: 'delay below 50 ms',
      failures: created.status === 202 ? 0 : 1,
    },
    {
      what: 'batch: reading the results',
      ours: `${read.lines} lines, ${(read.bytes / 1e6).toFixed(0)} MB in ${read.ms} ms; ${described(sending)}`,
      baseline: '',
      ratio: 1,
      aim: 'memory flat',
      failures: 0,
    },
  ];
}

export function bodyOfBatch(): string {
  const asins = Array.from({ length: ITEMS }, (_, i) => `B${String(i).padStart(9, '0')}`);
  return JSON.stringify({ operation: 'market.product', params: { domain: 1 }, split: { asins } });
}

interface Reports {
  gateway: ProbeReport;
  worker: ProbeReport;
}

function described(reports: Reports): string {
  return Object.entries(reports)
    .map(
      ([name, { memoryGrowthMb, loopDelayP99Ms, loopDelayMaxMs }]: [string, ProbeReport]) =>
        `${name} +${memoryGrowthMb.toFixed(0)} MB, loop delay p99 ${loopDelayP99Ms.toFixed(0)} ms, max ${loopDelayMaxMs.toFixed(0)} ms`,
    )
    .join('; ');
}

async function reportsOf(gateway: ChildProcess, worker: ChildProcess): Promise<Reports> {
  return {
    gateway: await reportOf(gateway),
    worker: await reportOf(worker),
  };
}

export async function finished(url: string, headers: Record<string, string>): Promise<BatchView> {
  for (;;) {
    const { body } = await request(url, { headers });
    const { data } = (await body.json()) as { data: BatchView };
    if (data.finishedAt !== null) return data;
    await sleep(LOOK_EVERY_MS);
  }
}

export async function readResults(url: string, headers: Record<string, string>) {
  const startedAt = performance.now();
  const { body } = await request(url, { headers });
  let bytes = 0;
  let lines = 0;
  for await (const chunk of body) {
    const piece = chunk as Buffer;
    bytes += piece.length;
    for (let at = piece.indexOf(10); at !== -1; at = piece.indexOf(10, at + 1)) lines += 1;
  }
  return { lines, bytes, ms: Math.round(performance.now() - startedAt) };
}
