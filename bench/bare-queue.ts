import { randomUUID } from 'node:crypto';
import { Queue, QueueEvents } from 'bullmq';
import { Redis } from 'ioredis';

/** The BullMQ baseline: adds a job and waits for its event, without Souk. */
export interface BareQueue {
  runJob(): Promise<void>;
  close(): Promise<void>;
}

export async function openBareQueue(redisUrl: string): Promise<BareQueue> {
  const connections = [1, 2].map(() => new Redis(redisUrl, { maxRetriesPerRequest: null }));
  const [connection, eventsConnection] = connections as [Redis, Redis];
  const queue = new Queue('bare', { connection });
  // Reads the stream from its start, so that no event is lost before the first read.
  const events = new QueueEvents('bare', { connection: eventsConnection, lastEventId: '0-0' });
  const waiting = new Map<string, () => void>();
  events.on('completed', ({ jobId }) => {
    waiting.get(jobId)?.();
    waiting.delete(jobId);
  });
  await events.waitUntilReady();
  return {
    async runJob() {
      const jobId = randomUUID();
      const completed = new Promise<void>((resolve) => waiting.set(jobId, resolve));
      await queue.add('bare', { some: 'data' }, { jobId, removeOnComplete: true, removeOnFail: true });
      await completed;
    },
    async close() {
      await events.close();
      await queue.close();
      for (const one of connections) one.disconnect();
    },
  };
}
