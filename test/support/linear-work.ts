import { expect } from 'vitest';
import type { Work, WorkMeter } from './work.ts';

/** Prepares a task for an input of a size. */
export type TaskOf = (size: number) => () => unknown;

/** The sizes of an input. */
const SIZES = [1, 2, 4, 8];

/** How often each task is measured. */
const MEASUREMENTS = 3;

/** The part of the work that may grow with the square of the size. */
const SQUARE_SHARE = 0.2;

/** Work that is not counted: checks that apply only above some size, and the copies that V8 makes to add up to a thousand fields to an object. */
const HARMLESS: Work = { blocks: 10_000, bytes: 5_000_000, reads: 20_000 };

/** Expects that the work of a task is linear in its size. */
export async function expectLinearWork(meter: WorkMeter, taskOf: TaskOf): Promise<void> {
  const tasks = SIZES.map(taskOf);
  // The first run compiles.
  await tasks.at(-1)?.();
  const works = await leastWorks(meter, tasks);
  for (const kind of ['blocks', 'bytes', 'reads'] as const) {
    const counts = works.map((work) => work[kind]);
    const said = `square part of ${kind}: ${counts.join(', ')}`;
    for (const [i, largest] of counts.entries())
      if (i >= 2)
        expect(squarePart(counts.slice(i - 2, i + 1)), said).toBeLessThanOrEqual(
          SQUARE_SHARE * largest + HARMLESS[kind],
        );
  }
}

/** Measures each task several times and returns the least work of each kind: what else happens in the process only adds to it. */
async function leastWorks(meter: WorkMeter, tasks: readonly (() => unknown)[]): Promise<Work[]> {
  const runs: Work[][] = [];
  for (let i = 0; i < MEASUREMENTS; i += 1) runs.push(await meter.measure([...tasks]));
  const least = (kind: keyof Work, position: number) =>
    Math.min(...runs.map((works) => works[position]?.[kind] ?? 0));
  return tasks.map((_, i) => ({
    blocks: least('blocks', i),
    bytes: Math.max(0, least('bytes', i)),
    reads: least('reads', i),
  }));
}

/** Returns c·4² of the curve a + b·size + c·size² through the work at the sizes 1, 2 and 4. */
function squarePart([one = 0, two = 0, four = 0]: readonly number[]): number {
  return (8 / 3) * (four - 3 * two + 2 * one);
}
