import { randomBytes } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { Ajv2020, type AnySchemaObject } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { onControl } from '../../jobs/control.ts';
import { createLogger } from '../../src/platform/log.ts';
import { redisKeys } from '../../src/platform/redis-keys.ts';
import { holdProducts, newAsin } from '../support/answers.ts';
import { batchOnce, isFinished, resultsOf } from '../support/batches.ts';
import { openTestDatabase } from '../support/database.ts';
import { RECORDED_PROVIDERS, recordRelease } from '../support/releases/record.ts';
import {
  type Message,
  NAMESPACE,
  type Published,
  type Release,
  recordedReleases,
  recordingPath,
} from '../support/releases/release.ts';
import { restoreDatabase } from '../support/releases/restore.ts';
import { functionsOf, relationsOf } from '../support/releases/schema.ts';
import { fieldOf, restoreKeys } from '../support/releases/stored-keys.ts';
import { ended, passHour, runsMade } from '../support/schedules.ts';
import { auditLedger } from '../support/soak/ledger-audit.ts';
import { openSouk, type Souk } from '../support/souk.ts';
import { openCalls } from '../support/workers.ts';

const releases = (await recordedReleases()).map((release) => [release.name, release] as const);
const database = await openTestDatabase();
const pathOf = (asin: string) => `/api/market/product?domain=1&asins=${asin}`;

/** What this release leaves in its stores. `npm run record-release` writes it into a file, for the tests of later releases. */
let present: Release;
beforeAll(async () => {
  const { SOUK_RECORD_RELEASE: name } = process.env;
  present = await recordRelease(name ?? 'present');
  if (name) await writeFile(recordingPath(present), `${JSON.stringify(present, null, 1)}\n`);
});

const ajv = addFormats.default(new Ajv2020({ strict: false }));

/** Returns what an earlier release would object to in a message. */
function objections(release: Release, kind: Message, value: unknown): string {
  const validate = ajv.compile(release.reads[kind] as AnySchemaObject);
  return validate(value) ? '' : ajv.errorsText(validate.errors);
}

/** The jobs of a pool that were in their queue at the end of a recording. */
function jobsIn({ redis }: Release, pool: string): unknown[] {
  const prefix = `{${NAMESPACE}-${pool}}:${pool}:`;
  return redis
    .filter(({ key, type }) => key.startsWith(prefix) && type === 'hash')
    .flatMap((stored) => fieldOf(stored, 'data') ?? [])
    .map((data) => JSON.parse(data));
}

const onChannel = ({ messages }: Release, name: string): Published[] =>
  messages.filter(({ channel }) => channel === `${NAMESPACE}:${name}`);

test('a recording has jobs and messages of every kind', () => {
  const counts = {
    calls: jobsIn(present, 'market').length,
    uploads: jobsIn(present, 'batch').length,
    control: new Set(onChannel(present, 'control').map(({ text }) => JSON.parse(text).action)).size,
    flights: Number(onChannel(present, 'flights').length > 0),
    batches: present.tables.find(({ name }) => name === 'batches')?.rows.length,
  };
  expect(counts).toEqual({ calls: 1, uploads: 1, control: 2, flights: 1, batches: 1 });
});

test.for(releases)('has the SQL functions, tables and columns that release %s uses', async ([, release]) => {
  const functions = await functionsOf(database);
  expect(release.functions.length).toBeGreaterThan(5);
  for (const { signature, result } of release.functions)
    expect({ signature, result: functions.get(signature) }).toEqual({ signature, result });
  const relations = new Map((await relationsOf(database)).map(({ name, columns }) => [name, columns]));
  for (const { name, columns } of release.relations) {
    const now = relations.get(name) ?? [];
    const kept = columns.map((column) => now.find((one) => one.name === column.name)?.type);
    expect([name, kept]).toEqual([name, columns.map(({ type }) => type)]);
    // The earlier release writes rows without the columns that it does not know.
    const added = now.filter((column) => !columns.some((one) => one.name === column.name));
    expect([name, added.filter(({ needed }) => needed)]).toEqual([name, []]);
  }
});

test.for(releases)(
  'writes jobs where workers of release %s take them, in a form that they read',
  ([, release]) => {
    for (const [pool, kind] of [
      ['market', 'payload'],
      ['batch', 'batchJob'],
    ] as const) {
      expect([pool, jobsIn(release, pool).length]).toEqual([pool, 1]);
      const jobs = jobsIn(present, pool);
      expect([pool, jobs.length]).toEqual([pool, 1]);
      for (const job of jobs) expect(objections(release, kind, job)).toBe('');
    }
    const upload = new RegExp(`^${NAMESPACE}:upload:{[^}]*}$`);
    expect(present.redis.filter(({ key, type }) => upload.test(key) && type === 'list')).toHaveLength(1);
  },
);

test.for(releases)('publishes only messages that release %s reads, on its channels', ([, release]) => {
  for (const [channel, kind] of [
    ['jobs', 'completion'],
    ['control', 'control'],
    ['flights', 'flight'],
  ] as const) {
    expect([channel, onChannel(release, channel).length]).not.toEqual([channel, 0]);
    const published = onChannel(present, channel);
    for (const { text } of published) expect(objections(release, kind, JSON.parse(text))).toBe('');
  }
  // A worker of the earlier release that runs a job learns only here that it is cancelled.
  expect(onChannel(present, 'control')).not.toEqual([]);
});

describe.for(releases)('on the stores of release %s', ([, release]) => {
  let redis: Redis;
  let souk: Souk;
  const messages: string[] = [];
  const undo: (() => Promise<unknown>)[] = [];

  beforeAll(async () => {
    redis = new Redis(inject('redisUrl'));
    const listener = redis.duplicate();
    undo.push(async () => [redis.disconnect(), listener.disconnect()]);
    const stored = await restoreDatabase(release);
    undo.push(stored.drop);
    const redisNamespace = `test-${randomBytes(6).toString('hex')}`;
    await restoreKeys(redis, redisNamespace, release.redis);
    listener.on('message', (_channel, text) => messages.push(text));
    await listener.subscribe(redisKeys(redisNamespace).jobsChannel);
    const servers = { databaseUrl: stored.url, redisUrl: inject('redisUrl') };
    souk = await openSouk({
      servers,
      redisNamespace,
      providers: RECORDED_PROVIDERS,
      gateways: 0,
      workers: 0,
    });
    undo.push(() => souk.close());
    souk.clock.advance(release.at - souk.clock.now());
    await souk.addGateway();
    await souk.addWorker();
  });
  afterAll(async () => {
    for (const step of undo.reverse()) await step();
  });

  const customer = () => souk.clientOf(release.scenario.key);

  test('runs a job that was queued, and publishes its end for processes of the release', async () => {
    const jobId = release.scenario.jobs.queued;
    const { status, json } = await customer().get(`/api/jobs/${jobId}/result?wait=30`);
    expect([status, json.data.products[0].asin]).toEqual([200, 'B0RECORD03']);
    const ends = () => messages.map((text) => JSON.parse(text)).filter(({ callId }) => callId === jobId);
    await expect.poll(ends).toHaveLength(1);
    expect(objections(release, 'completion', ends()[0])).toBe('');
  });

  test('returns the results of calls that had ended', async () => {
    const { answered, failed } = release.scenario.jobs;
    const [result, error] = await Promise.all(
      [answered, failed].map((jobId) => customer().get(`/api/jobs/${jobId}/result`)),
    );
    expect([result?.status, result?.json.data.products[0].asin]).toEqual([200, 'B0RECORD02']);
    expect([error?.status, error?.json.code]).toEqual([502, 'UPSTREAM_ERROR']);
  });

  test('answers from the cache what was fetched before', async () => {
    souk.upstream.calls.length = 0;
    const other = await souk.client();
    const { status, headers } = await other.get(release.scenario.answered);
    expect([status, headers['x-cache'], souk.upstream.calls]).toEqual([200, 'HIT', []]);
  });

  test('finishes a batch that was running', async () => {
    const client = souk.clientOf(release.scenario.slowKey);
    const batch = await batchOnce(souk, client, release.scenario, isFinished, 5_000);
    expect(batch).toMatchObject({ state: 'done', counts: { done: 3 } });
    const asins = (await resultsOf(client, batch)).map(({ data }) => data.products[0].asin);
    expect(asins).toEqual(['B0RECORD11', 'B0RECORD12', 'B0RECORD13']);
  });

  test('reads an upload that was queued, and runs schedules and trackers', async () => {
    const { scheduleId, trackerId, uploaded } = release.scenario;
    const names = async () =>
      (await customer().get('/api/schedules')).json.data.schedules.map(({ name }: { name: string }) => name);
    await expect.poll(names).toContain(uploaded);
    expect((await customer().get(`/api/trackers/${trackerId}`)).status).toBe(200);
    passHour(souk);
    const [run] = await runsMade(souk, customer(), { scheduleId }, 1);
    expect(await ended(souk, customer(), { batchId: run?.batchId ?? '' })).toMatchObject({ state: 'done' });
  });

  test('a completion message of the release answers a waiting call', async () => {
    const old = onChannel(release, 'jobs').map(({ text }) => JSON.parse(text));
    const failed = old.find(({ state }) => state === 'released');
    const unlock = holdProducts(souk.upstream);
    const awaited = souk.events.next('call.awaited');
    const reply = customer().get(pathOf(newAsin()));
    const { callId } = await awaited;
    await redis.publish(redisKeys(souk.redisNamespace).jobsChannel, JSON.stringify({ ...failed, callId }));
    expect((await reply).status).toBe(502);
    unlock();
    await expect.poll(() => openCalls(souk)).toBe(0);
  });

  test('a worker obeys the commands of the release', async () => {
    const commands = onChannel(release, 'control').map(({ text }) => text);
    const obeyed: string[] = [];
    const subscriber = redis.duplicate();
    undo.push(async () => subscriber.disconnect());
    const [keys, log] = [redisKeys(`${souk.redisNamespace}-commands`), createLogger('silent')];
    await onControl({ subscriber, log }, keys, ({ action }) => obeyed.push(action));
    for (const text of commands) await redis.publish(keys.controlChannel, text);
    await expect.poll(() => obeyed).toHaveLength(commands.length);
    expect(new Set(obeyed)).toEqual(new Set(['cancel', 'promote']));
  });

  test('every unit is accounted for', async () => {
    expect((await customer().get('/api/quota')).status).toBe(200);
    expect(await auditLedger(souk.database)).toEqual([]);
  });
});
