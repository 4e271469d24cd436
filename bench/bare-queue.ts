import { randomUUID } from 'node:crypto';
import { Queue, QueueEvents } from 'bullmq';
import { Redis } from 'ioredis';

/** The BullMQ baseline: adds a job and waits for its event, without Souk. */
interface BareQueue {
  /** Returns what the worker returned. */
  runJob(data?: object): Promise<string>;
  close(): Promise<void>;
}

export async function openBareQueue(redisUrl: string, name = 'bare'): Promise<BareQueue> {
  const connections = [1, 2].map(() => new Redis(redisUrl, { maxRetriesPerRequest: null }));
  const [connection, eventsConnection] = connections as [Redis, Redis];
  const queue = new Queue(name, { connection });
  // Reads the stream from its start, so that no event is lost before the first read.
  const events = new QueueEvents(name, { connection: eventsConnection, lastEventId: '0-0' });
  const waiting = new Map<string, (returned: string) => void>();
  events.on('completed', ({ jobId, returnvalue }) => {
    waiting.get(jobId)?.(returnvalue as unknown as string);
    waiting.delete(jobId);
  });
  await events.waitUntilReady();
  return {
    async runJob(data = { some: 'data' }) {
      const jobId = randomUUID();
      const completed = new Promise<string>((resolve) => waiting.set(jobId, resolve));
      await queue.add(name, data, { jobId, removeOnComplete: true, removeOnFail: true });
      return completed;
    },
    async close() {
      await events.close();
      await queue.close();
      for (const one of connections) one.disconnect();
    },
  };
}
