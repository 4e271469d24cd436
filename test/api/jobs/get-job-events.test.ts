import { EventSource } from 'undici';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { knowsEveryProduct, newAsin } from '../../support/answers.ts';
import type { Client } from '../../support/client.ts';
import { type Listener, listen } from '../../support/events.ts';
import { gate } from '../../support/scripted-upstream.ts';
import { openSouk, type Souk } from '../../support/souk.ts';
import { advanceUntil } from '../../support/time.ts';
import { unitsUsed } from '../../support/units.ts';
import { stopWorkers } from '../../support/workers.ts';

let souk: Souk;
let client: Client;
let open: () => void;
beforeAll(async () => {
  souk = await openSouk({ gateways: 2 });
});
afterAll(() => souk.close());
beforeEach(async () => {
  if (souk.workers.length === 0) await souk.addWorker();
  client = await souk.client();
  const { reached, ...opening } = gate();
  open = opening.open;
  souk.upstream.calls.length = 0;
  souk.upstream.on('product', async (...call) => {
    await reached;
    return knowsEveryProduct(...call);
  });
});
afterEach(() => open());

/** A job that is under way. */
async function newJob(from = client): Promise<{ path: string; events: string }> {
  const path = `/api/market/product?domain=1&asins=${newAsin()}`;
  const { json } = await from.get(`${path}&async=1`);
  return { path, events: json.data.links.events };
}

const names = ({ events }: Listener) => events.map(({ name }) => name);

test('a job is told at once, whenever something has changed, and when it has ended; then it is over', async () => {
  await stopWorkers(souk);
  const { events } = await newJob();
  const listener = await listen(client, events);
  expect(listener.status).toBe(200);
  expect(listener.headers).toMatchObject({
    ...{
      'content-type': 'text/event-stream',
      'cache-control': 'private, no-store',
      'x-accel-buffering': 'no',
    },
    ...{ 'x-units-consumed': '0', 'x-job-id': events.split('/')[3], 'x-request-id': expect.any(String) },
  });
  await expect.poll(() => names(listener)).toEqual(['job']);
  expect(listener.events[0]?.data).toMatchObject({ state: 'queued', position: 0 });
  await souk.addWorker();
  await advanceUntil(souk.clock, () => listener.events.at(-1)?.data.state === 'running', 1_000);
  open();
  await listener.ended;
  expect(names(listener).at(-1)).toBe('end');
  expect(names(listener).filter((name) => name === 'end')).toHaveLength(1);
  expect(listener.events.at(-1)?.data).toMatchObject({ state: 'done', progress: 100, unitsCharged: 1 });
  expect(await unitsUsed(client)).toBe(1);
});

test('events show the job as it is shown to whoever asks', async () => {
  open();
  const { events } = await newJob();
  const job = events.replace('/events', '');
  const shown = await client.get(`${job}?wait=30`);
  const listener = await listen(client, events);
  await listener.ended;
  expect(listener.events).toEqual([{ name: 'end', data: shown.json.data }]);
});

test('an end on another gateway is heard without looking again', async () => {
  const { key } = await souk.account();
  const { events } = await newJob(souk.clientOf(key, 0));
  await souk.upstream.received(1);
  const listener = await listen(souk.clientOf(key, 1), events);
  await expect.poll(() => names(listener)).toContain('job');
  open();
  // Time stands still.
  await listener.ended;
  expect(listener.events.at(-1)).toMatchObject({ name: 'end', data: { state: 'done' } });
});

test('while nothing changes there is a sign of life, and no repetition', async () => {
  const { events } = await newJob();
  await souk.upstream.received(1);
  const listener = await listen(client, events);
  await advanceUntil(souk.clock, () => names(listener).includes(':'), 1_000);
  const said = listener.events.filter(({ name }) => name === 'job').map(({ data }) => JSON.stringify(data));
  expect(new Set(said).size).toBe(said.length);
  listener.hangUp();
});

test('a failed job ends with its error', async () => {
  souk.upstream.on('product', () => ({ status: 400, json: { error: { type: 'invalidParameter' } } }));
  const listener = await listen(client, (await newJob()).events);
  await listener.ended;
  expect(listener.events.at(-1)).toMatchObject({
    name: 'end',
    data: { state: 'failed', unitsCharged: 0, error: { code: 'UPSTREAM_ERROR' } },
  });
});

test('a cancelled job ends as cancelled', async () => {
  const { events } = await newJob();
  const listener = await listen(client, events);
  await expect.poll(() => names(listener)).toContain('job');
  await client.get(events.replace('/events', ''), { method: 'DELETE' });
  await listener.ended;
  expect(listener.events.at(-1)).toMatchObject({ name: 'end', data: { state: 'cancelled' } });
});

test('nothing is looked up any more for a client that has left', async () => {
  const { events } = await newJob();
  await souk.upstream.received(1, 'product');
  const idle = souk.clock.countOf('call wait');
  const awaited = souk.events.next('call.awaited');
  const listener = await listen(client, events);
  await awaited;
  listener.hangUp();
  await expect(listener.ended).rejects.toMatchObject({ name: 'AbortError' });
  await expect
    .poll(() => {
      souk.clock.advance(100);
      return souk.clock.countOf('call wait');
    })
    .toBeLessThanOrEqual(idle);
});

test('it ends when the gateway closes, and goes on at another', async () => {
  await souk.addGateway();
  const { key } = await souk.account();
  const { events } = await newJob(souk.clientOf(key, 2));
  const listener = await listen(souk.clientOf(key, 2), events);
  await expect.poll(() => names(listener)).toContain('job');
  const [closing] = souk.gateways.splice(2);
  await closing?.close();
  await listener.ended;
  expect(names(listener)).not.toContain('end');
  const elsewhere = await listen(souk.clientOf(key, 1), events);
  open();
  await elsewhere.ended;
  expect(elsewhere.events.at(-1)).toMatchObject({ name: 'end', data: { state: 'done' } });
});

test('an event source understands it', async () => {
  const { events } = await newJob();
  const source = new EventSource(`${client.baseUrl}${events}?key=${client.key}`);
  const heard: { type: string; state: string }[] = [];
  const ended = new Promise<void>((resolve) => {
    for (const type of ['job', 'end'])
      source.addEventListener(type, (event) => {
        const { data } = event as unknown as { data: string };
        heard.push({ type, state: (JSON.parse(data) as { state: string }).state });
        if (type === 'end') resolve();
      });
  });
  await expect.poll(() => heard).not.toHaveLength(0);
  open();
  await ended;
  source.close();
  expect(heard.at(-1)).toEqual({ type: 'end', state: 'done' });
});

test('the story of a job of another account does not exist, nor that of one that never was', async () => {
  const { events } = await newJob();
  const stranger = await souk.client();
  for (const path of [
    events,
    '/api/jobs/01890000-0000-7000-8000-000000000000/events',
    '/api/jobs/x/events',
  ]) {
    const { status, json } = await stranger.get(path);
    expect([status, json.code]).toEqual([404, 'JOB_NOT_FOUND']);
  }
  expect((await stranger.raw(events)).status).toBe(401);
});

test('it is over after ten minutes, for clients that connect again', async () => {
  await stopWorkers(souk);
  // Nobody does it, so it does not end.
  const { events } = await newJob();
  const listener = await listen(client, events);
  await advanceUntil(souk.clock, listener.hasEnded, 20_000);
  await listener.ended;
  expect(names(listener)).not.toContain('end');
});
