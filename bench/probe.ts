import { monitorEventLoopDelay } from 'node:perf_hooks';
import type { ProbeReport } from './probe-report.ts';

/** Loaded into Souk's processes: measures event loop and memory between the messages `reset` and `report`. */
const SAMPLE_EVERY_MS = 100;

const delay = monitorEventLoopDelay({ resolution: 10 });
let start = process.memoryUsage.rss();
let highest = start;
let isSampled = false;

const sample = () => {
  highest = Math.max(highest, process.memoryUsage.rss());
};

process.on('message', (message) => {
  if (message === 'reset') {
    start = process.memoryUsage.rss();
    highest = start;
    delay.reset();
    delay.enable();
    // Reading the memory takes time, so a process whose report is not requested is not sampled.
    if (!isSampled) setInterval(sample, SAMPLE_EVERY_MS).unref();
    isSampled = true;
  } else if (message === 'report') {
    const report: ProbeReport = {
      loopDelayP99Ms: delay.percentile(99) / 1e6,
      loopDelayMaxMs: delay.max / 1e6,
      memoryGrowthMb: (highest - start) / 2 ** 20,
    };
    process.send?.({ report });
  }
});
