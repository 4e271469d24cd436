import { readFileSync } from 'node:fs';

/** How long a process waited for a processor, because other programs of the machine used all of them. */
export interface StarvationWatch {
  /** Returns how long the process could have run between two times of `performance.now()`, and did not. */
  waitedMs(from: number, until: number): number;
  stop(): void;
}

const EVERY_MS = 50;

/** Answers are judged within this time. */
const KEPT = 150_000 / EVERY_MS;

/** Watches the main thread of a process. Without Linux's statistics of its scheduler, the time is 0. */
export function startStarvationWatch(pid: number): StarvationWatch {
  const samples: { at: number; waitedMs: number }[] = [];
  const sample = () => {
    samples.push({ at: performance.now(), waitedMs: totalWaitMs(pid) });
    if (samples.length > KEPT) samples.shift();
  };
  sample();
  const timer = setInterval(sample, EVERY_MS);
  return {
    waitedMs(from, until) {
      sample();
      const before = samples.findLast(({ at }) => at <= from) ?? samples[0];
      const after = samples.find(({ at }) => at >= until) ?? samples.at(-1);
      return (after?.waitedMs ?? 0) - (before?.waitedMs ?? 0);
    },
    stop: () => clearInterval(timer),
  };
}

function totalWaitMs(pid: number): number {
  try {
    const [, waitedNs = '0'] = readFileSync(`/proc/${pid}/schedstat`, 'utf8').split(' ');
    return Number(waitedNs) / 1_000_000;
  } catch {
    return 0;
  }
}
