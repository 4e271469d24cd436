import { monitorEventLoopDelay } from 'node:perf_hooks';

/** Loaded into Souk's processes: measures event loop and memory between the messages `reset` and `report`. */
export interface ProbeReport {
  loopDelayP99Ms: number;
  loopDelayMaxMs: number;
  /** The highest growth of resident memory since `reset`. */
  memoryGrowthMb: number;
}

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
