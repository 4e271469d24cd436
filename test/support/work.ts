import { Session } from 'node:inspector/promises';

/** Work that does not depend on how busy the machine is. */
export interface Work {
  /** How often blocks of JavaScript were entered. */
  blocks: number;
  /** Bytes that were allocated, from samples: what built-in functions copy shows here. */
  bytes: number;
}

export interface WorkMeter {
  measure(task: () => unknown): Promise<Work>;
  close(): Promise<void>;
}

/** Bytes between two samples. */
const SAMPLING_BYTES = 512;

export async function openWorkMeter(): Promise<WorkMeter> {
  const session = new Session();
  session.connect();
  await session.post('Profiler.enable');
  await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: true });
  return {
    async measure(task) {
      await session.post('HeapProfiler.startSampling', {
        samplingInterval: SAMPLING_BYTES,
        includeObjectsCollectedByMajorGC: true,
        includeObjectsCollectedByMinorGC: true,
      } as { samplingInterval: number });
      await session.post('Profiler.takePreciseCoverage');
      await task();
      const coverage = await session.post('Profiler.takePreciseCoverage');
      const { profile } = await session.post('HeapProfiler.stopSampling');
      const ranges = coverage.result.flatMap(({ functions }) => functions.flatMap((one) => one.ranges));
      return { blocks: ranges.reduce((sum, { count }) => sum + count, 0), bytes: bytesOf(profile.head) };
    },
    async close() {
      await session.post('Profiler.stopPreciseCoverage');
      session.disconnect();
    },
  };
}

interface Node {
  selfSize: number;
  children: Node[];
}

function bytesOf({ selfSize, children }: Node): number {
  return children.reduce((sum, child) => sum + bytesOf(child), selfSize);
}
