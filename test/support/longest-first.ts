import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** Short files that run for long, so that the sizes of files do not show it. */
const LONG = /\/test\/(soak|start)\//;

/** Runs files that take long first: at the end they would run alone, and leave a processor idle. */
export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    const isLong = ({ moduleId }: TestSpecification) => LONG.test(moduleId);
    return [...sorted.filter(isLong), ...sorted.filter((file) => !isLong(file))];
  }
}
