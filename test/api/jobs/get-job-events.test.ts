import { EventSource } from 'undici';
import { expect } from 'vitest';
import { newAsin } from '../../support/answers.ts';
import type { Client } from '../../support/client.ts';
import { type Listener, listen } from '../../support/events.ts';
import { testWithHeldProducts as test } from '../../support/souk-test.ts';
import { advanceUntil } from '../../support/time.ts';
import { unitsUsed } from '../../support/units.ts';
import { stopWorkers } from '../../support/workers.ts';

test.override('soukOptions', { gateways: 2 });
test.beforeEach(async ({ souk }) => {
  if (souk.workers.length === 0) await souk.addWorker();
});

/** A job that runs. */
async function newJob(client: Client, from = client): Promise<{ path: string; events: string }> {
  const path = `/api/market/product?domain=1&asins=${newAsin()}`;
  const { json } = await from.get(`${path}&async=1`);
  return { path, events: json.data.links.events };
}

const names = ({ events }: Listener) => events.map(({ name }) => name);

test('sends the job immediately, on every change and at its end, then closes', async ({
  souk,
  client,
  release,
}) => {
  await stopWorkers(souk);
  const { events } = await newJob(client);
  const listener = await listen(client, events);
  expect(listener.status).toBe(200);
  expect(listener.headers).toMatchObject({
    'content-type': 'text/event-stream',
    'cache-control': 'private, no-store',
    'x-accel-buffering': 'no',
    'x-units-consumed': '0',
    'x-job-id': events.split('/')[3],
    'x-request-id': expect.any(String),
  });
  await expect.poll(() => names(listener)).toEqual(['job']);
  expect(listener.events[0]?.data).toMatchObject({ state: 'queued', position: 0 });
  await souk.addWorker();
  await advanceUntil(souk.clock, () => listener.events.at(-1)?.data.state === 'running', 1_000);
  release();
  await listener.ended;
  expect(names(listener).at(-1)).toBe('end');
  expect(names(listener).filter((name) => name === 'end')).toHaveLength(1);
  expect(listener.events.at(-1)?.data).toMatchObject({ state: 'done', progress: 100, unitsCharged: 1 });
  expect(await unitsUsed(client)).toBe(1);
});

test('events hold what GET /api/jobs/{id} returns', async ({ client, release }) => {
  release();
  const { events } = await newJob(client);
  const job = events.replace('/events', '');
  const shown = await client.get(`${job}?wait=30`);
  const listener = await listen(client, events);
  await listener.ended;
  expect(listener.events).toEqual([{ name: 'end', data: shown.json.data }]);
});

test('receives the end of a job from another gateway without polling', async ({ souk, client, release }) => {
  const { key } = await souk.account();
  const { events } = await newJob(client, souk.clientOf(key, 0));
  await souk.upstream.received(1);
  const listener = await listen(souk.clientOf(key, 1), events);
  await expect.poll(() => names(listener)).toContain('job');
  release();
  // The clock does not move.
  await listener.ended;
  expect(listener.events.at(-1)).toMatchObject({ name: 'end', data: { state: 'done' } });
});

test('sends comments, and no repeated event, while nothing changes', async ({ souk, client }) => {
  const { events } = await newJob(client);
  await souk.upstream.received(1);
  const listener = await listen(client, events);
  await advanceUntil(souk.clock, () => names(listener).includes(':'), 1_000);
  const said = listener.events.filter(({ name }) => name === 'job').map(({ data }) => JSON.stringify(data));
  expect(new Set(said).size).toBe(said.length);
  listener.hangUp();
});

test('ends with the state cancelled for a cancelled job', async ({ souk, client }) => {
  await stopWorkers(souk);
  const { events } = await newJob(client);
  const listener = await listen(client, events);
  await expect.poll(() => names(listener)).toContain('job');
  await client.get(events.replace('/events', ''), { method: 'DELETE' });
  await listener.ended;
  await souk.addWorker();
  expect(listener.events.at(-1)).toMatchObject({ name: 'end', data: { state: 'cancelled' } });
});

test('stops reading the job when the client disconnects', async ({ souk, client }) => {
  const { events } = await newJob(client);
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

test('ends when the gateway closes, and continues on another', async ({ souk, client, release }) => {
  await souk.addGateway();
  const { key } = await souk.account();
  const { events } = await newJob(client, souk.clientOf(key, 2));
  const listener = await listen(souk.clientOf(key, 2), events);
  await expect.poll(() => names(listener)).toContain('job');
  const [closing] = souk.gateways.splice(2);
  await closing?.close();
  await listener.ended;
  expect(names(listener)).not.toContain('end');
  const elsewhere = await listen(souk.clientOf(key, 1), events);
  release();
  await elsewhere.ended;
  expect(elsewhere.events.at(-1)).toMatchObject({ name: 'end', data: { state: 'done' } });
});

test('can be read with EventSource', async ({ client, release }) => {
  const { events } = await newJob(client);
  const source = new EventSource(`${client.baseUrl}${events}?key=${client.key}`);
  const received: { type: string; state: string }[] = [];
  const ended = new Promise<void>((resolve) => {
    for (const type of ['job', 'end'])
      source.addEventListener(type, (event) => {
        const { data } = event as unknown as { data: string };
        received.push({ type, state: (JSON.parse(data) as { state: string }).state });
        if (type === 'end') resolve();
      });
  });
  await expect.poll(() => received).not.toHaveLength(0);
  release();
  await ended;
  source.close();
  expect(received.at(-1)).toEqual({ type: 'end', state: 'done' });
});

test('ends after ten minutes, so that clients reconnect', async ({ souk, client }) => {
  await stopWorkers(souk);
  // No worker runs the job, so it does not end.
  const { events } = await newJob(client);
  const listener = await listen(client, events);
  await advanceUntil(souk.clock, listener.hasEnded, 20_000);
  await listener.ended;
  expect(names(listener)).not.toContain('end');
});
