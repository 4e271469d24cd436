import { Worker } from 'bullmq';
import { Redis } from 'ioredis';
import { runProcess } from '../src/platform/process.ts';

/** The worker of the BullMQ baseline, which completes each job at once. */
await runProcess('bare worker', async (env) => {
  const connection = new Redis(env.REDIS_URL ?? '', { maxRetriesPerRequest: null });
  const worker = new Worker('bare', async () => ({ done: true }), { connection, concurrency: 32 });
  await worker.waitUntilReady();
  return {
    ready: 'ready',
    async close() {
      await worker.close();
      connection.disconnect();
    },
  };
});
