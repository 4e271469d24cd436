import { chmod, mkdtemp, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import type { TestProject } from 'vitest/node';
import { build } from '../../scripts/build.mjs';
import { startPostgres } from '../../src/platform/embedded/postgres.ts';
import { startRedis } from '../../src/platform/embedded/redis.ts';
import { copyMigratedPostgres } from './postgres-template.ts';
import { startRedisCluster } from './redis-cluster.ts';

declare module 'vitest' {
  interface ProvidedContext {
    /** A migrated database that every test file copies. */
    templateDatabaseUrl: string;
    redisUrl: string;
    /** The Redis of the services of tests: the same one, or with SOUK_TEST_REDIS=cluster a Redis Cluster with three masters. */
    serviceRedisUrl: string;
    /** Folder of the compiled programs, as production runs them: they start much faster than TypeScript. */
    programs: string;
  }
}

const COMPILED_FOR_TESTS = ['test/support/open-and-close.ts'];

/** One PostgreSQL, one Redis and one build for the whole run, thrown away afterwards. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const folder = await mkdtemp(join(tmpdir(), 'souk-test-'));
  await chmod(folder, 0o755);
  const [postgres, redis] = await Promise.all([
    copyMigratedPostgres(join(folder, 'postgres')).then(() =>
      startPostgres(join(folder, 'postgres'), { durable: false }),
    ),
    startRedis(join(folder, 'redis'), resolve('.souk/tools'), { durable: false }),
    build(join(folder, 'programs'), COMPILED_FOR_TESTS),
    // The programs find their packages next to them.
    symlink(resolve('node_modules'), join(folder, 'node_modules')),
  ]);
  project.provide('templateDatabaseUrl', postgres.url);
  const cluster = process.env.SOUK_TEST_REDIS === 'cluster' ? await startRedisCluster() : null;
  project.provide('redisUrl', redis.url);
  project.provide('serviceRedisUrl', cluster?.url ?? redis.url);
  project.provide('programs', join(folder, 'programs'));
  return async () => {
    await cluster?.close();
    await redis.stop();
    await postgres.stop();
    await rm(folder, { recursive: true, force: true });
  };
}
