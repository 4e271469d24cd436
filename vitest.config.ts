import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    globalSetup: ['test/support/global-setup.ts'],
    // The files of a process share its modules: importing them anew for each file took a third of a run.
    pool: 'forks',
    isolate: false,
    maxWorkers: 2,
    // On a busy machine a second, the default, is not much.
    expect: { poll: { timeout: 20_000 } },
    testTimeout: 60_000,
    hookTimeout: 60_000,
    reporters: ['default', './test/support/count-reporter.ts'],
  },
});
