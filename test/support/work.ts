import { Session } from 'node:inspector/promises';
import { GCProfiler, getHeapStatistics } from 'node:v8';

/** Work that does not depend on how busy the machine is. */
export interface Work {
  /** How often blocks of JavaScript were entered. */
  blocks: number;
  /** Bytes that were allocated. They show how much built-in functions copy. */
  bytes: number;
  /** Elements and characters of what built-in functions read. */
  reads: number;
}

export interface WorkMeter {
  /** Runs tasks one after the other. @returns the work of each. */
  measure(tasks: readonly (() => unknown)[]): Promise<Work[]>;
  close(): Promise<void>;
}

export async function openWorkMeter(): Promise<WorkMeter> {
  const session = new Session();
  session.connect();
  await session.post('Profiler.enable');
  await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: true });
  const reading = countReads();
  /** Returns the blocks entered since the last call, without those of this file. */
  async function takeBlocks(): Promise<number> {
    const { result } = await session.post('Profiler.takePreciseCoverage');
    let blocks = 0;
    for (const { functions } of result.filter(({ url }) => !url.endsWith(import.meta.filename)))
      for (const { ranges } of functions) for (const { count } of ranges) blocks += count;
    return blocks;
  }
  return {
    async measure(tasks) {
      const works: Work[] = [];
      await takeBlocks();
      for (const task of tasks) {
        reading.count = 0;
        const bytes = await bytesOf(task);
        works.push({ bytes, reads: reading.count, blocks: await takeBlocks() });
      }
      return works;
    },
    async close() {
      reading.stop();
      await session.post('Profiler.stopPreciseCoverage');
      session.disconnect();
    },
  };
}

/** Counts the bytes that a task allocates: the growth of the heap, and what collections freed meanwhile. */
async function bytesOf(task: () => unknown): Promise<number> {
  const profiler = new GCProfiler();
  profiler.start();
  const before = getHeapStatistics().used_heap_size;
  await task();
  const grown = getHeapStatistics().used_heap_size - before;
  const freed = (profiler.stop()?.statistics ?? []).map(
    ({ beforeGC, afterGC }) => beforeGC.heapStatistics.usedHeapSize - afterGC.heapStatistics.usedHeapSize,
  );
  return freed.reduce((sum, bytes) => sum + bytes, grown);
}

/** Built-in functions whose work shows neither as blocks nor as bytes, and the size of what they read. */
const READERS: readonly [
  owner: object,
  names: readonly string[],
  size: (self: { length: number }, argument: string | bigint) => number,
][] = [
  [
    Array.prototype,
    ['includes', 'indexOf', 'lastIndexOf', 'shift', 'unshift', 'splice'],
    (self) => self.length,
  ],
  [String.prototype, ['includes', 'indexOf', 'lastIndexOf', 'search'], (self) => self.length],
  [RegExp.prototype, ['test'], (_, text) => String(text).length],
  // The time grows with the square of the digits.
  [globalThis, ['BigInt'], (_, digits) => String(digits).length ** 2],
];

/** Counts what the functions above read until `stop` is called. */
function countReads(): { count: number; stop(): void } {
  const originals: [object, string, unknown][] = [];
  const reads = {
    count: 0,
    stop() {
      for (const [owner, name, original] of originals) Reflect.set(owner, name, original);
    },
  };
  for (const [owner, names, size] of READERS)
    for (const name of names) {
      const original = Reflect.get(owner, name) as (...args: unknown[]) => unknown;
      originals.push([owner, name, original]);
      const counted = new Proxy(original, {
        apply(target, self, args) {
          reads.count += size(self, args[0] as string);
          return Reflect.apply(target, self, args);
        },
      });
      Reflect.set(owner, name, counted);
    }
  return reads;
}
