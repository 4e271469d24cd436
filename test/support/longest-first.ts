import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** Short files that run for a long time. The order by size would start them late. */
const LONG =
  /\/test\/(soak|start|postgresql|redis)\/|\/test\/(jobs\/(stop-without-redis|frozen-stores)|client\/package|api\/limits\/stalled-downloads|walk)\.test/;

/** Files that count the work of their process. Each count visits all code that the process has loaded, so they run before others. */
const COUNTING = /\/test\/(api\/linear-parsing|batches\/feeding-order)\.test/;

/** Runs files that take long first: at the end they would run alone, and leave a processor idle. */
export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    const place = ({ moduleId }: TestSpecification) => {
      if (COUNTING.test(moduleId)) return 0;
      return LONG.test(moduleId) ? 1 : 2;
    };
    return sorted.toSorted((a, b) => place(a) - place(b));
  }
}
