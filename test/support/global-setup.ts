import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import type { TestProject } from 'vitest/node';
import { startPostgres } from '../../src/platform/embedded/postgres.ts';
import { startRedis } from '../../src/platform/embedded/redis.ts';
import { copyMigratedPostgres } from './postgres-template.ts';

declare module 'vitest' {
  interface ProvidedContext {
    /** A migrated database that every test file copies. */
    templateDatabaseUrl: string;
    redisUrl: string;
  }
}

/** One PostgreSQL and one Redis for the whole run, thrown away afterwards. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const folder = await mkdtemp(join(tmpdir(), 'souk-test-'));
  await chmod(folder, 0o755);
  const [postgres, redis] = await Promise.all([
    copyMigratedPostgres(join(folder, 'postgres')).then(() =>
      startPostgres(join(folder, 'postgres'), { durable: false }),
    ),
    startRedis(join(folder, 'redis'), resolve('.souk/tools'), { durable: false }),
  ]);
  project.provide('templateDatabaseUrl', postgres.url);
  project.provide('redisUrl', redis.url);
  return async () => {
    await redis.stop();
    await postgres.stop();
    await rm(folder, { recursive: true, force: true });
  };
}
