import { expect } from 'vitest';
import type { Work, WorkMeter } from './work.ts';

/** Prepares a task for an input of a size. */
export type TaskOf = (size: number) => () => unknown;

/** The sizes of an input. */
const SIZES = [1, 2, 4, 8];

/** How often each task is measured at most. */
const MEASUREMENTS = 10;

const KINDS = ['blocks', 'bytes', 'reads'] as const;

/** The part of the work that may grow with the square of the size. */
const SQUARE_SHARE = 0.2;

/** Work that is not counted: checks that apply only above some size, and the copies that V8 makes to add up to a thousand fields to an object. */
const HARMLESS: Work = { blocks: 10_000, bytes: 5_000_000, reads: 20_000 };

/**
 * Expects that the work of a task is linear in its size. Work that seems to grow faster is measured again.
 */
export async function expectLinearWork(meter: WorkMeter, taskOf: TaskOf): Promise<void> {
  expect(await squareWork(meter, taskOf)).toBe('');
}

/**
 * Expects it of several tasks, which are measured together: a measurement takes more time than most tasks. If together they do
 * too much, each is measured by itself, and those are named that do.
 */
export async function expectLinearWorkOfEach(
  meter: WorkMeter,
  tasks: readonly { name: string; taskOf: TaskOf }[],
  measurements = MEASUREMENTS,
): Promise<void> {
  const all = (size: number) => {
    const prepared = tasks.map(({ taskOf }) => taskOf(size));
    return () => Promise.all(prepared.map((run) => run()));
  };
  if ((await squareWork(meter, all, measurements)) === '') return;
  for (const { name, taskOf } of tasks) expect(await squareWork(meter, taskOf, measurements), name).toBe('');
}

/** Returns what grows with the square of the size, or an empty text. */
async function squareWork(meter: WorkMeter, taskOf: TaskOf, measurements = MEASUREMENTS): Promise<string> {
  const tasks = SIZES.map(taskOf);
  // The first run compiles.
  await tasks.at(-1)?.();
  const measured: Work[][] = [];
  let found: string[];
  do {
    measured.push(await meter.measure([...tasks]));
    found = tooMuch(SIZES.map((_, i) => workOf(measured.flatMap((works) => works[i] ?? []))));
  } while (found.length > 0 && measured.length < measurements);
  return found.join('; ');
}

/** Returns what grows with the square of the size, with its counts. */
function tooMuch(works: readonly Work[]): string[] {
  return KINDS.flatMap((kind) => {
    // A larger input may take less work, when it is refused earlier.
    const counts = works.map((_, i) => Math.max(0, ...works.slice(0, i + 1).map((work) => work[kind])));
    const isLinear = counts.every(
      (largest, i) =>
        i < 2 || squarePart(counts.slice(i - 2, i + 1)) <= SQUARE_SHARE * largest + HARMLESS[kind],
    );
    return isLinear ? [] : [`square part of ${kind}: ${counts.join(', ')}`];
  });
}

/**
 * Returns the work of a task that was measured several times. What else happens in the process only adds blocks and reads, so the
 * least is right; a collection of older garbage can take away bytes, so their median is.
 */
function workOf(measured: readonly Work[]): Work {
  const sorted = (kind: keyof Work) => measured.map((work) => work[kind]).toSorted((a, b) => a - b);
  return {
    blocks: sorted('blocks')[0] ?? 0,
    reads: sorted('reads')[0] ?? 0,
    bytes: sorted('bytes')[Math.floor((measured.length - 1) / 2)] ?? 0,
  };
}

/** Returns c·4² of the curve a + b·size + c·size² through the work at the sizes 1, 2 and 4. */
function squarePart([one = 0, two = 0, four = 0]: readonly number[]): number {
  return (8 / 3) * (four - 3 * two + 2 * one);
}
