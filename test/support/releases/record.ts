import { randomBytes } from 'node:crypto';
import { Redis } from 'ioredis';
import { expect, vi } from 'vitest';
import { z } from 'zod';
import { batchJobSchema } from '../../../jobs/batch-queue.ts';
import { completionSchema } from '../../../jobs/completion-message.ts';
import { controlSchema } from '../../../jobs/control.ts';
import { payloadSchema } from '../../../jobs/payload.ts';
import { flightSchema } from '../../../workers/single-flight.ts';
import { knowsEveryProduct } from '../answers.ts';
import { batchNow, startBatch } from '../batches.ts';
import type { Client } from '../client.ts';
import { REPORTS } from '../reports.ts';
import { comesAbout, createSchedule, productsHourly } from '../schedules.ts';
import { gate } from '../scripted-upstream.ts';
import { openSouk, type Souk } from '../souk.ts';
import { everyTwoHours } from '../trackers.ts';
import { stopWorkers } from '../workers.ts';
import { NAMESPACE, type Published, type Release, type Scenario } from './release.ts';
import { recordDatabase } from './schema.ts';
import { dumpKeys } from './stored-keys.ts';

/** Data of these providers is in the recordings. */
export const RECORDED_PROVIDERS = { products: 'recorded', trends: 'recorded', reports: REPORTS };

const pathOf = (asin: string) => `/api/market/product?domain=1&asins=${asin}`;

const ASYNC = { headers: { prefer: 'respond-async' } };

/** Runs a service of this code through a scenario, and records what it leaves in its stores and publishes on the way. */
export async function recordRelease(name: string): Promise<Release> {
  const redisNamespace = `recorded-${randomBytes(6).toString('hex')}`;
  const souk = await openSouk({ redisNamespace, providers: RECORDED_PROVIDERS });
  const redis = new Redis(souk.redisUrl);
  const listener = new Redis(souk.redisUrl);
  try {
    const messages: Published[] = [];
    listener.on('pmessage', (_pattern, channel, text) => {
      const hide = (part: string) => part.replaceAll(redisNamespace, NAMESPACE);
      messages.push({ channel: hide(channel), text: hide(text) });
    });
    await listener.psubscribe(`${redisNamespace}:*`);
    const scenario = await runScenario(souk, redis);
    return {
      ...{ name, scenario, messages, reads: readSchemas(), at: souk.clock.now() },
      ...(await recordDatabase(souk.database)),
      redis: await dumpKeys(redis, redisNamespace),
    };
  } finally {
    listener.disconnect();
    redis.disconnect();
    await souk.close();
  }
}

function readSchemas(): Release['reads'] {
  const jsonOf = (schema: z.ZodType) => z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' });
  return {
    payload: jsonOf(payloadSchema),
    batchJob: jsonOf(batchJobSchema),
    completion: jsonOf(completionSchema),
    control: jsonOf(controlSchema),
    flight: jsonOf(flightSchema),
  };
}

async function runScenario(souk: Souk, redis: Redis): Promise<Scenario> {
  const { key } = await souk.account();
  const client = souk.clientOf(key);
  const answered = pathOf('B0RECORD01');
  expect((await client.get(answered)).status).toBe(200);
  const jobs = {
    answered: await pollJob(client, 'B0RECORD02'),
    failed: await failJob(souk, client),
    queued: '',
  };
  await shareAndCancel(souk, client);

  const { key: slowKey } = await souk.account({ plan: { minuteLimit: 1 } });
  const batchId = await beginBatch(souk, souk.clientOf(slowKey));
  const { scheduleId } = await createSchedule(client, productsHourly(['B0RECORD21']));
  const tracker = await client.post('/api/trackers', everyTwoHours(['B0RECORD31']));
  const { trackerId } = tracker.json.data;

  await stopWorkers(souk);
  jobs.queued = await startJob(client, 'B0RECORD03');
  const uploaded = 'Uploaded before the upgrade';
  await leaveUpload(souk, redis, client, productsHourly(['B0RECORD22'], { name: uploaded }));
  return { key, slowKey, answered, jobs, batchId, scheduleId, trackerId, uploaded };
}

async function startJob(client: Client, asin: string): Promise<string> {
  const { status, json } = await client.get(pathOf(asin), ASYNC);
  expect(status).toBe(202);
  return json.data.jobId;
}

async function pollJob(client: Client, asin: string): Promise<string> {
  const jobId = await startJob(client, asin);
  expect((await client.get(`/api/jobs/${jobId}/result?wait=30`)).status).toBe(200);
  return jobId;
}

async function failJob(souk: Souk, client: Client): Promise<string> {
  souk.upstream.on('product', () => ({ status: 400, json: { error: { type: 'refused', message: 'no' } } }));
  const jobId = await startJob(client, 'B0RECORD04');
  expect((await client.get(`/api/jobs/${jobId}/result?wait=30`)).status).toBe(502);
  souk.upstream.on('product', knowsEveryProduct);
  return jobId;
}

/** Starts a batch whose first call has ended, after a request has joined it. */
async function beginBatch(souk: Souk, client: Client): Promise<string> {
  const open = hold(souk);
  const started = souk.events.next('job.started');
  const asins = ['B0RECORD11', 'B0RECORD12', 'B0RECORD13'];
  const items = asins.map((asin, i) => ({ domain: 1, asin, history: i % 2 }));
  const { batchId } = await startBatch(client, { operation: 'market.product', items });
  await started;
  const awaited = souk.events.next('call.awaited');
  const joined = client.get(`${pathOf('B0RECORD11')}&history=0`);
  await awaited;
  open();
  expect((await joined).headers['x-deduplicated']).toBe('true');
  await comesAbout(souk, async () => (await batchNow(client, { batchId })).counts.done >= 1);
  return batchId;
}

/** Lets the upstream answer only after the returned function was called. */
function hold({ upstream }: Souk): () => void {
  const { reached, open } = gate();
  upstream.on('product', async (...call) => {
    await reached;
    return knowsEveryProduct(...call);
  });
  return open;
}

/** Two accounts ask for the same product at once, and the first one cancels a call that is running and joins another. */
async function shareAndCancel(souk: Souk, client: Client): Promise<void> {
  const open = hold(souk);
  const other = await souk.client();
  const started = souk.events.next('job.started', {}, 3);
  const [own, , cancelled] = await Promise.all([
    startJob(client, 'B0RECORD05'),
    startJob(other, 'B0RECORD05'),
    startJob(client, 'B0RECORD06'),
  ]);
  await started;
  await souk.upstream.received(2);
  expect((await client.get(`/api/jobs/${cancelled}`, { method: 'DELETE' })).status).toBeLessThan(300);
  const awaited = souk.events.next('call.awaited');
  const joined = client.get(pathOf('B0RECORD05'));
  await awaited;
  open();
  expect((await joined).status).toBe(200);
  expect((await client.get(`/api/jobs/${own}/result?wait=30`)).status).toBe(200);
}

/** Leaves an upload that no worker has read. */
async function leaveUpload(souk: Souk, redis: Redis, client: Client, body: unknown): Promise<void> {
  const leaving = new AbortController();
  const sent = client.post('/api/schedules', body, { signal: leaving.signal }).catch(() => {});
  const queue = `{${souk.redisNamespace}-batch}:batch:wait`;
  await vi.waitUntil(async () => (await redis.llen(queue)) === 1, { interval: 25, timeout: 20_000 });
  leaving.abort();
  await sent;
}
