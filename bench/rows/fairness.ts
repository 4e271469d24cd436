import { Agent, request } from 'undici';
import type { Row } from '../row.ts';
import { newAsin, type Services } from '../services.ts';

/** Calls of the flooding account. */
const FLOOD = 10_000;
/** Concurrent requests of the flooding account. */
const SENDERS = 50;
/** The provider's latency. */
const LATENCY_MS = 250;
/** Sequential calls of the other account. */
const MEASURED = 60;
const WARM_UP = 10;

/** Measures synchronous calls of one account while another has ten thousand asynchronous calls waiting. */
export async function fairnessRows(services: Services): Promise<Row[]> {
  const upstream = await services.start('bench/instant-upstream.ts', {
    env: { LATENCY_MS: String(LATENCY_MS) },
  });
  const { url } = await services.startSouk(upstream.ready);
  const [flooding = '', other = ''] = await services.keys(2);
  const dispatcher = new Agent({ connections: SENDERS + 1 });

  async function call(key: string, options = ''): Promise<number> {
    const path = `/api/market/product?domain=1&asins=${newAsin()}${options}`;
    const { statusCode, body } = await request(`${url}${path}`, {
      dispatcher,
      headers: { 'x-api-key': key },
    });
    await body.dump();
    return statusCode;
  }

  let failures = 0;
  async function latencies(count: number): Promise<number[]> {
    const measured: number[] = [];
    for (let i = 0; i < count; i += 1) {
      const startedAt = performance.now();
      if ((await call(other)) !== 200) failures += 1;
      measured.push(performance.now() - startedAt);
    }
    return measured.sort((a, b) => a - b);
  }

  await latencies(WARM_UP);
  const alone = await latencies(MEASURED);

  let sent = 0;
  const flood = async () => {
    while (sent < FLOOD) {
      sent += 1;
      if ((await call(flooding, '&async=1')) !== 202) failures += 1;
    }
  };
  await Promise.all(Array.from({ length: SENDERS }, flood));
  const waitingBefore = await openCalls(services);
  const flooded = await latencies(MEASURED);
  const waitingAfter = await openCalls(services);
  // The measurement is valid only if the flood lasts to the end.
  if (waitingAfter < FLOOD / 10) failures += 1;
  await dispatcher.close();

  const inWords = (sorted: readonly number[]) =>
    `p50 ${at(sorted, 0.5).toFixed(0)} ms, p95 ${at(sorted, 0.95).toFixed(0)} ms`;
  return [
    {
      what: `synchronous calls of ${LATENCY_MS} ms while another account has ${waitingBefore} to ${waitingAfter} jobs waiting / without (p95)`,
      ours: inWords(flooded),
      baseline: inWords(alone),
      ratio: at(flooded, 0.95) / at(alone, 0.95),
      aim: 'at most 2: one job more',
      failures,
    },
  ];
}

function at(sorted: readonly number[], share: number): number {
  return sorted[Math.floor(sorted.length * share)] ?? 0;
}

async function openCalls({ database }: Services): Promise<number> {
  const { rows } = await database.query<{ open: number }>(
    "select count(*)::integer as open from calls where state = 'reserved'",
  );
  return rows[0]?.open ?? 0;
}
