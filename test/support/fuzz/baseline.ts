import { setTimeout as pause } from 'node:timers/promises';
import type { FuzzRequest } from './request.ts';
import type { FuzzAnswer } from './send.ts';

/** Durations of requests to a gateway that is not attacked. They show how slow the machine is. */
export interface Baseline {
  /** Returns the duration of the longest request that was in progress between two times. */
  longestMs(kind: 'gateway' | 'worker', from: number, until: number): number;
  stop(): Promise<void>;
}

const PAUSE_MS = 100;

/** How long durations are kept. Each answer is compared with them within this time. */
const KEPT_MS = 60_000;

/**
 * Sends one request after the other to a gateway that receives no mutated requests: some that it answers itself, and some that a worker answers.
 * @param send sends a request. Requests to a worker use the key of the mutated requests, because calls of one account wait for each other.
 */
export function startBaseline(
  send: Record<'gateway' | 'worker', (request: FuzzRequest) => Promise<FuzzAnswer>>,
): Baseline {
  let stopped = false;
  const loops = {
    gateway: startLoop(send.gateway, () => '/api/quota'),
    worker: startLoop(
      send.worker,
      (i) => `/api/market/product?domain=1&detailLevel=summary&asins=B0${String(i).padStart(8, '0')}`,
    ),
  };

  function startLoop(ask: (request: FuzzRequest) => Promise<FuzzAnswer>, pathOf: (i: number) => string) {
    const measured: { from: number; until: number }[] = [];
    let current = performance.now();
    async function run(): Promise<void> {
      for (let i = 0; !stopped; i += 1) {
        current = performance.now();
        const asked: FuzzRequest = { method: 'GET', path: pathOf(i), headers: {}, as: 'customer' };
        await ask(asked);
        const until = performance.now();
        measured.push({ from: current, until });
        if ((measured[0]?.until ?? until) < until - KEPT_MS) measured.shift();
        await pause(PAUSE_MS);
      }
    }
    const longestMs = (from: number, until: number) => {
      const during = measured.filter((one) => one.until >= from && one.from <= until);
      return Math.max(0, until - current, ...during.map((one) => one.until - one.from));
    };
    return { longestMs, running: run() };
  }

  return {
    longestMs: (kind, from, until) => loops[kind].longestMs(from, until),
    async stop() {
      stopped = true;
      await Promise.all([loops.gateway.running, loops.worker.running]);
    },
  };
}
