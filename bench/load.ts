import autocannon from 'autocannon';

export interface LoadResult {
  requestsPerSecond: number;
  bytesPerSecond: number;
  p50Ms: number;
  p99Ms: number;
  /** Answers with a status other than 2xx, and connection errors. */
  failures: number;
}

/** Sends requests from `next` over `connections` connections for a while, after a warm-up. */
export async function load(
  url: string,
  next: () => { path: string; headers?: Record<string, string> },
  options: { connections: number; seconds: number },
): Promise<LoadResult> {
  const run = (duration: number) =>
    autocannon({
      url,
      connections: options.connections,
      duration,
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
  await run(4);
  const result = await run(options.seconds);
  return {
    requestsPerSecond: result.requests.average,
    bytesPerSecond: result.throughput.average,
    p50Ms: result.latency.p50,
    p99Ms: result.latency.p99,
    failures: result.non2xx + result.errors + result.timeouts,
  };
}
