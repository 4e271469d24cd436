import type { FuzzRequest } from './request.ts';
import type { Sender } from './send.ts';

/** What requests take that nothing attacks: what they take, the machine takes. */
export interface Baseline {
  /** The longest request that was under way between two times. */
  longestMs(kind: 'gateway' | 'worker', from: number, until: number): number;
  stop(): Promise<void>;
}

const PAUSE_MS = 20;

/** Answers are judged within this time. */
const KEPT_MS = 60_000;

/** Sends one request after the other to a calm gateway: some that it answers itself, and some that a worker answers. */
export function startBaseline(sender: Sender, gateway: string, key: string): Baseline {
  let stopped = false;
  const loops = {
    gateway: startLoop(() => '/api/quota'),
    worker: startLoop(
      (i) => `/api/market/product?domain=1&detailLevel=summary&asins=B0${String(i).padStart(8, '0')}`,
    ),
  };

  function startLoop(pathOf: (i: number) => string) {
    const measured: { from: number; until: number }[] = [];
    let current = performance.now();
    async function run(): Promise<void> {
      for (let i = 0; !stopped; i += 1) {
        current = performance.now();
        const asked: FuzzRequest = { method: 'GET', path: pathOf(i), headers: {}, as: 'customer' };
        await sender.send(gateway, asked, { 'x-api-key': key });
        const until = performance.now();
        measured.push({ from: current, until });
        if ((measured[0]?.until ?? until) < until - KEPT_MS) measured.shift();
        await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
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
