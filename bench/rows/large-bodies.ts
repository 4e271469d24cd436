import type { ChildProcess } from 'node:child_process';
import { max, median } from 'd3-array';
import { request } from 'undici';
import { watchMachine } from '../machine.ts';
import { reportOf } from '../probe-report.ts';
import { cpuTimes } from '../process-times.ts';
import type { Row } from '../row.ts';
import type { Services } from '../services.ts';

/** Sites of the provider. The first warms up; each of the others is one round, because its data is not in the cache. */
const DOMAINS = [1, 2, 3, 4, 5, 6];
const LONGEST_BLOCK_MS = 50;
/** A product of the demo provider whose family has 1,000 members. */
const FAMILY_ASIN = 'B0ZZZZZZ00';
const PAGE_SIZE = 400;

/** Measures the longest block of a worker by a full lightning list with an integer of 16 digits, and by a large family. */
export async function largeBodyRows(services: Services): Promise<Row[]> {
  const env = { BODY: 'lightning' };
  const lists = await services.start('bench/instant-upstream.ts', { env });
  const list = await rowOf(services, lists.ready, 'a full lightning list with an integer of 16 digits', '');
  const demo = await services.start('demo/main.ts');
  const family = await rowOf(services, demo.ready, `${PAGE_SIZE} variations of a family`, FAMILY_ASIN);
  return [list, family];
}

/** A call that is not in the cache, and what it took. */
interface MeasuredCall {
  isExpected: boolean;
  bytes: number;
  ms: number;
  blockMs: { worker: number; gateway: number };
  /** With the time in which other programs had the processors. */
  delayMs: { worker: number; gateway: number };
  cpuMs: { worker: number; gateway: number };
}

/** Calls one site after the other. @param asin of a family; empty: the lightning list. */
async function rowOf(services: Services, upstreamUrl: string, what: string, asin: string): Promise<Row> {
  const souk = await services.startSouk(upstreamUrl);
  const [key = ''] = await services.keys(1);
  const path =
    asin === '' ? '/api/market/lightningdeal?' : `/api/market/variations?asin=${asin}&perPage=${PAGE_SIZE}&`;
  const calls: MeasuredCall[] = [];
  const [first, ...others] = DOMAINS.map((domain) => `${souk.url}${path}domain=${domain}`);
  await measuredCall(services, souk, first ?? '', key);
  const machine = await watchMachine(services.processes);
  for (const address of others) calls.push(await measuredCall(services, souk, address, key));
  const busy = await machine();
  await services.stop(souk.gateway);
  await services.stop(souk.worker);

  const middle = (figure: (call: MeasuredCall) => number) => (median(calls, figure) ?? 0).toFixed(0);
  const longest = (max(calls, ({ blockMs }) => blockMs.worker) ?? 0).toFixed(0);
  return {
    what: `${what} (${middle(({ bytes }) => bytes / 1000)} KB gzip): longest block of the worker's event loop / ${LONGEST_BLOCK_MS} ms`,
    ours:
      `worker ${middle(({ blockMs }) => blockMs.worker)} ms (at most ${longest}), ` +
      `gateway ${middle(({ blockMs }) => blockMs.gateway)} ms; with waits for a processor ` +
      `worker ${middle(({ delayMs }) => delayMs.worker)} ms, gateway ${middle(({ delayMs }) => delayMs.gateway)} ms; ` +
      `answered in ${middle(({ ms }) => ms)} ms`,
    baseline: `${LONGEST_BLOCK_MS} ms`,
    ratio: (median(calls, ({ blockMs }) => blockMs.worker) ?? 0) / LONGEST_BLOCK_MS,
    aim: 'at most 1',
    cpu: `worker ${middle(({ cpuMs }) => cpuMs.worker)} ms, gateway ${middle(({ cpuMs }) => cpuMs.gateway)} ms a call`,
    busy,
    failures: calls.filter(({ isExpected }) => !isExpected).length,
  };
}

async function measuredCall(
  { processes }: Services,
  { gateway, worker }: { gateway: ChildProcess; worker: ChildProcess },
  address: string,
  key: string,
): Promise<MeasuredCall> {
  for (const process of [gateway, worker]) process.send('reset');
  const before = await cpuTimes(processes);
  const startedAt = performance.now();
  const headers = { 'x-api-key': key, 'accept-encoding': 'gzip' };
  const { statusCode, body } = await request(address, { headers });
  const { byteLength } = await body.arrayBuffer();
  const ms = performance.now() - startedAt;
  const after = await cpuTimes(processes);
  const cpuMs = (name: string) => (after[name] ?? 0) - (before[name] ?? 0);
  const [ofWorker, ofGateway] = [await reportOf(worker), await reportOf(gateway)];
  return {
    ...{ isExpected: statusCode === 200, bytes: byteLength, ms },
    blockMs: { worker: ofWorker.longestBlockMs, gateway: ofGateway.longestBlockMs },
    delayMs: { worker: ofWorker.loopDelayMaxMs, gateway: ofGateway.loopDelayMaxMs },
    cpuMs: { worker: cpuMs('worker'), gateway: cpuMs('gateway') },
  };
}
