import { resolve } from 'node:path';
import { defineConfig } from 'vitest/config';
import { LongestFirst } from './test/support/longest-first.ts';
import { temporaryFolder } from './test/support/temporary-folder.ts';

// Set here, so that all processes of a run inherit it.
process.env.TMPDIR = temporaryFolder();

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    alias: { '@node-rs/argon2': resolve('test/support/cheap-argon2.ts') },
    globalSetup: ['test/support/global-setup.ts'],
    setupFiles: ['test/support/setup-file.ts'],
    // The files of a process share its modules: importing them anew for each file took a third of a run.
    pool: 'forks',
    isolate: false,
    // A test waits about half of its time, for stores and for processes that start or end, so four keep two cores busy.
    maxWorkers: 4,
    // With V8's default of 16 MB, young objects are collected often, which takes processor time from the tests.
    execArgv: ['--max-semi-space-size=64'],
    sequence: { sequencer: LongestFirst },
    // Keeps compiled modules between runs, so that a run of one file starts in half the time.
    experimental: { fsModuleCache: true },
    // Generous: on a busy machine everything takes many times as long.
    expect: { poll: { timeout: 30_000 } },
    testTimeout: 120_000,
    hookTimeout: 120_000,
    reporters: ['default', './test/support/count-reporter.ts'],
  },
});
