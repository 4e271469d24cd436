import { monitorEventLoopDelay } from 'node:perf_hooks';
import type { ProbeReport } from './probe-report.ts';

/** Loaded into Souk's processes: measures event loop and memory between the messages `reset` and `report`. */
const SAMPLE_EVERY_MS = 100;

const delay = monitorEventLoopDelay({ resolution: 10 });
let start = process.memoryUsage.rss();
let highest = start;
setInterval(() => {
  highest = Math.max(highest, process.memoryUsage.rss());
}, SAMPLE_EVERY_MS).unref();

process.on('message', (message) => {
  if (message === 'reset') {
    start = process.memoryUsage.rss();
    highest = start;
    delay.reset();
    delay.enable();
  } else if (message === 'report') {
    const report: ProbeReport = {
      loopDelayP99Ms: delay.percentile(99) / 1e6,
      loopDelayMaxMs: delay.max / 1e6,
      memoryGrowthMb: (highest - start) / 2 ** 20,
    };
    process.send?.({ report });
  }
});
