import fc from 'fast-check';
import type { HistoryWindow } from '../../src/operations/products/history.ts';

/** Unix milliseconds of an index time. */
const unixMs = (minutes: number) => (minutes + 21_564_000) * 60_000;

/**
 * Returns the points of a series inside a window by a check of each point. The last point up to the start is included,
 * because its value still applies when the window starts, unless the window ends before it.
 */
export function modelCut<Entry>(
  series: readonly Entry[],
  width: number,
  { startMs, endMs = Number.POSITIVE_INFINITY }: HistoryWindow,
): Entry[] {
  const points: Entry[][] = [];
  for (let i = 0; i + width <= series.length; i += width) points.push(series.slice(i, i + width));
  const timeOf = (point: Entry[]) => unixMs(Number(point[0]));
  const before = points.filter((point) => timeOf(point) <= startMs).slice(-1);
  const within = points.filter((point) => timeOf(point) > startMs && timeOf(point) <= endMs);
  return [...before, ...within].flat();
}

/** Points of `width` entries in order of time, the time first. */
export function seriesOf(width: number): fc.Arbitrary<number[]> {
  const steps = fc.array(fc.integer({ min: 1, max: 10_000 }), { maxLength: 30 });
  return steps.chain((gaps) => {
    let time = 7_000_000;
    const times = gaps.map((gap) => {
      time += gap;
      return time;
    });
    const values = fc.array(fc.integer({ min: -2, max: 1_000_000 }), {
      minLength: width - 1,
      maxLength: width - 1,
    });
    return fc.tuple(...times.map((at) => values.map((rest) => [at, ...rest]))).map((points) => points.flat());
  });
}

/** A window that may lie before, within or after such a series, often exactly on one of its points. */
export const windows: fc.Arbitrary<HistoryWindow> = fc
  .record({
    from: fc.integer({ min: 6_990_000, max: 7_310_000 }),
    lengthMinutes: fc.option(fc.integer({ min: 0, max: 300_000 })),
    ms: fc.constantFrom(0, 0, 1, 59_999),
  })
  .map(({ from, lengthMinutes, ms }) => {
    const startMs = unixMs(from) + ms;
    return lengthMinutes === null ? { startMs } : { startMs, endMs: startMs + lengthMinutes * 60_000 };
  });
