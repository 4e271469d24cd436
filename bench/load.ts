import autocannon from 'autocannon';
import { quantileSorted } from 'd3-array';
import { Pool } from 'undici';
import { type Sample, type Side, SOUK } from './rounds.ts';

/** A request of a load. */
interface LoadRequest {
  path: string;
  headers?: Record<string, string>;
}

/** Returns a side that sends requests from `next` over some connections, each as soon as the one before is answered. */
export function load(
  url: string,
  next: () => LoadRequest,
  options: { connections: number; perSecond?: number; processes?: readonly string[] },
): Side {
  const { connections, perSecond, processes = SOUK } = options;
  const send = async (seconds: number): Promise<Sample> => {
    const result = await autocannon({
      url,
      connections,
      // Otherwise each slow request at a fixed rate would also be counted as several faster ones, and the median could
      // be below the fastest real request.
      ...(perSecond === undefined ? {} : { overallRate: perSecond, ignoreCoordinatedOmission: true }),
      duration: seconds,
      timeout: 60,
      requests: [
        {
          setupRequest: (request: object) => {
            const { path, headers = {} } = next();
            return { ...request, path, headers };
          },
        },
      ],
    });
    const { requests, throughput, latency, duration } = result;
    return {
      calls: requests.total,
      perSecond: requests.total / duration,
      bytesPerSecond: throughput.total / duration,
      p50Ms: latency.p50,
      p99Ms: latency.p99,
      failures: result.non2xx + result.errors + result.timeouts,
    };
  };
  return { processes, send };
}

/** Returns a side that times each request by itself, more finely than `load` does, over a few connections. */
export function timedLoad(
  url: string,
  next: () => LoadRequest,
  { connections, processes = SOUK }: { connections: number; processes?: readonly string[] },
): Side {
  const send = async (seconds: number) => {
    const pool = new Pool(url, { connections });
    const sample = await timed(connections, seconds, async () => {
      const { path, headers = {} } = next();
      const { statusCode, body } = await pool.request({ method: 'GET', path, headers });
      const { byteLength } = await body.arrayBuffer();
      return { bytes: byteLength, isExpected: statusCode === 200 };
    });
    await pool.close();
    return sample;
  };
  return { processes, send };
}

/** Runs tasks at a fixed concurrency for a while, and times them. */
export async function timed(
  concurrency: number,
  seconds: number,
  task: () => Promise<{ bytes: number; isExpected: boolean }>,
): Promise<Sample> {
  const startedAt = performance.now();
  const endAt = startedAt + seconds * 1000;
  const latenciesMs: number[] = [];
  let bytes = 0;
  let failures = 0;
  const client = async () => {
    for (let beganAt = startedAt; beganAt < endAt; beganAt = performance.now()) {
      const done = await task();
      latenciesMs.push(performance.now() - beganAt);
      bytes += done.bytes;
      if (!done.isExpected) failures += 1;
    }
  };
  await Promise.all(Array.from({ length: concurrency }, client));
  const tookSeconds = (performance.now() - startedAt) / 1000;
  latenciesMs.sort((a, b) => a - b);
  return {
    calls: latenciesMs.length,
    perSecond: latenciesMs.length / tookSeconds,
    bytesPerSecond: bytes / tookSeconds,
    p50Ms: quantileSorted(latenciesMs, 0.5) ?? 0,
    p99Ms: quantileSorted(latenciesMs, 0.99) ?? 0,
    failures,
  };
}
