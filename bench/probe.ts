import { closeSync, openSync, readSync } from 'node:fs';
import { createHistogram, monitorEventLoopDelay } from 'node:perf_hooks';
import { isMainThread } from 'node:worker_threads';
import type { ProbeReport } from './probe-report.ts';

/** Loaded into Souk's processes: measures event loop and memory between the messages `reset` and `report`. */
const SAMPLE_EVERY_MS = 100;

const TICK_MS = 10;

const delay = monitorEventLoopDelay({ resolution: TICK_MS });
let start = process.memoryUsage.rss();
let highest = start;
let isSampled = false;

const sample = () => {
  highest = Math.max(highest, process.memoryUsage.rss());
};

/** Linux: the nanoseconds that the main thread has run, and that it has waited for a processor. */
const schedule = isMainThread ? openSync(`/proc/${process.pid}/task/${process.pid}/schedstat`, 'r') : null;
const text = Buffer.alloc(100);
const waitedMs = () => {
  if (schedule === null) return 0;
  const length = readSync(schedule, text, 0, text.length, 0);
  return Number(text.toString('latin1', 0, length).split(' ')[1]) / 1e6;
};
if (schedule !== null) process.once('exit', () => closeSync(schedule));

const blocks = createHistogram();
let last = { at: performance.now(), waitedMs: waitedMs() };

/** Measures by how much a timer is late, without the time in which other programs had the processors. */
const tick = () => {
  const present = { at: performance.now(), waitedMs: waitedMs() };
  const lateMs = present.at - last.at - TICK_MS - (present.waitedMs - last.waitedMs);
  blocks.record(Math.max(1, Math.round(lateMs * 1e6)));
  last = present;
};

process.on('message', (message) => {
  if (message === 'reset') {
    start = process.memoryUsage.rss();
    highest = start;
    blocks.reset();
    delay.reset();
    // Otherwise the first tick would measure the time since the process started.
    last = { at: performance.now(), waitedMs: waitedMs() };
    delay.enable();
    // Reading the memory takes time, so a process whose report is not requested is not sampled.
    if (!isSampled) {
      setInterval(sample, SAMPLE_EVERY_MS).unref();
      setInterval(tick, TICK_MS).unref();
    }
    isSampled = true;
  } else if (message === 'report') {
    const report: ProbeReport = {
      loopDelayP99Ms: delay.percentile(99) / 1e6,
      loopDelayMaxMs: delay.max / 1e6,
      longestBlockMs: blocks.max / 1e6,
      blockP99Ms: blocks.percentile(99) / 1e6,
      highestMemoryMb: highest / 2 ** 20,
      memoryGrowthMb: (highest - start) / 2 ** 20,
    };
    process.send?.({ report });
  }
});
