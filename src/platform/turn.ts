/** How long parsing and writing large data may run before other work has its turn. */
const TURN_MS = 10;

/** When a task of this process began to run in the present turn of the event loop; null before the first one. */
let startedAt: number | null = null;

/** The tasks that wait for a turn. */
const waiting: (() => void)[] = [];

/**
 * Returns whether the present turn of the event loop is over. All tasks of the process share it: a hundred short ones that
 * start together block as long as a large one.
 */
export function isTurnOver(): boolean {
  const now = performance.now();
  if (startedAt === null) {
    startedAt = now;
    setImmediate(() => {
      startedAt = null;
    });
  }
  return now - startedAt > TURN_MS;
}

/** Waits until other work has had its turn. The tasks that wait continue one after the other. */
export function nextTurn(): Promise<void> {
  return new Promise((resolve) => {
    waiting.push(resolve);
    if (waiting.length === 1) setImmediate(resumeFirst);
  });
}

function resumeFirst(): void {
  startedAt = null;
  waiting.shift()?.();
  if (waiting.length > 0) setImmediate(resumeFirst);
}

let end: Promise<void> | null = null;

/** Waits until the present turn of the event loop is over, and what it sends is written. The tasks that wait continue together. */
export function endOfTurn(): Promise<void> {
  end ??= new Promise((resolve) => {
    setImmediate(() => {
      end = null;
      resolve();
    });
  });
  return end;
}
