import { expect, test } from 'vitest';
import { createTestDatabase } from '../support/database.ts';
import { startRedisCluster } from '../support/redis-cluster.ts';
import { startSentinel } from '../support/redis-sentinel.ts';
import { openSouk, showLogOnFailure } from '../support/souk.ts';
import { expectBalancedBooks, startStoreLoad } from '../support/store-load.ts';

/** Redis with a server that a test kills, and another one that takes its place. */
interface Redundant {
  url: string;
  killMaster(): void;
  /** What the servers that choose the new master have logged, once they are closed. */
  logs(): string;
  close(): Promise<void>;
}

const FORMS: Record<string, () => Promise<Redundant>> = {
  async 'a Redis Cluster'() {
    const { url, masters, close } = await startRedisCluster({ replicas: true });
    return { url, close, killMaster: () => kill(masters[0]?.server.pid), logs: () => '' };
  },
  async Sentinel() {
    const { url, master, logs, close } = await startSentinel();
    return { url, logs, close, killMaster: () => kill(master.pid) };
  },
};

function kill(pid: number | undefined): void {
  if (pid === undefined) throw new Error('There is no server to kill.');
  process.kill(pid, 'SIGKILL');
}

test.for(Object.entries(FORMS))(
  'after the death of a master of %s under load, calls are answered again and every unit is accounted for',
  async ([, start], { onTestFinished, onTestFailed }) => {
    const redis = await start();
    onTestFinished(() => redis.close());
    onTestFailed(() => void process.stderr.write(redis.logs()));
    const database = await createTestDatabase();
    const servers = { databaseUrl: database.url, redisUrl: redis.url };
    const souk = await openSouk({ gateways: 2, workers: 2, servers });
    onTestFinished(async () => {
      await souk.close();
      await database.drop();
    });
    showLogOnFailure(souk);
    const load = await startStoreLoad(souk);
    // The requests whose job or completion message is lost look for it after some time.
    const ticking = setInterval(() => souk.clock.advance(1_000), 1_000);
    onTestFinished(() => clearInterval(ticking));
    await load.answered(30);
    redis.killMaster();
    await load.answered(100);
    await load.stop();
    // A call whose completion message was lost is answered with its job.
    expect([...load.statuses.keys()].filter((status) => ![200, 202, 503].includes(status))).toEqual([]);
    await expectBalancedBooks(souk);
  },
);
