import { randomUUID } from 'node:crypto';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, beforeEach, describe, expect, inject, test } from 'vitest';
import { CACHE_LIFETIME_MS, type Source } from '../../src/operations/define.ts';
import { SoukError } from '../../src/platform/errors.ts';
import { createLogger } from '../../src/platform/log.ts';
import { redisKeys } from '../../src/platform/redis-keys.ts';
import { createCallEvents } from '../../src/platform/telemetry/call-events.ts';
import { cacheOn } from '../../src/results/cache.ts';
import { openSingleFlight, type SingleFlight } from '../../workers/single-flight.ts';
import { createSources, type Obtained, type Sources } from '../../workers/sources.ts';
import { createCallEventSpy } from '../support/call-event-spy.ts';
import { TestClock } from '../support/clock.ts';
import { gate } from '../support/scripted-upstream.ts';

const keys = redisKeys(`test-${randomUUID()}`);
const clock = new TestClock();
const redis = new Redis(inject('redisUrl'));
const connections = [redis];
const flights: SingleFlight[] = [];
/** The sources of two worker processes. */
let here: Sources;
let there: Sources;
/** The events of both processes. */
const events = createCallEventSpy();

async function openSources(): Promise<Sources> {
  const [own, subscriber] = [redis.duplicate(), redis.duplicate()];
  connections.push(own, subscriber);
  const log = createLogger('silent');
  const flight = await openSingleFlight({ cache: cacheOn(own), subscriber, keys, clock, log });
  flights.push(flight);
  return createSources(flight, clock, createCallEvents(log, [events.onEvent]));
}

beforeAll(async () => {
  [here, there] = [await openSources(), await openSources()];
});
afterAll(async () => {
  await Promise.all(flights.map((flight) => flight.close()));
  for (const connection of connections) connection.disconnect();
});
beforeEach(() => {
  clock.advance(2 * CACHE_LIFETIME_MS);
});

interface Asking {
  startedAt?: number;
  again?: boolean;
  maxAgeMs?: number;
  /** How the sources may be stale; default: not. */
  lasting?: Pick<Source, 'keptForMs' | 'staleForMs'>;
  signal?: AbortSignal;
}

const TOKENS_EACH = 1.5;

const CALL = { operation: 'market.product', accountId: 1, callId: randomUUID() };

/** Requests some sources; `asked` collects the keys that are fetched upstream, which returns `says`. */
function obtain(
  sources: Sources,
  names: string[],
  says: (asked: string[]) => unknown,
  {
    startedAt = clock.now(),
    again = false,
    maxAgeMs = CACHE_LIFETIME_MS,
    lasting,
    signal = new AbortController().signal,
  }: Asking = {},
): Promise<Map<string, Obtained>> {
  return sources.obtain({
    call: CALL,
    sources: names.map((name): Source => ({ key: name, identity: `test/${name}`, ...lasting })),
    maxAgeMs,
    startedAt,
    again,
    signal,
    atOnce: Math.max(1, names.length),
    tokensEach: () => TOKENS_EACH,
    cancelled: new AbortController().signal,
    failures: null,
    async fetch(missing) {
      const asked = missing.map(({ key }) => key);
      const value = await says(asked);
      return new Map(value === undefined ? [] : asked.map((key) => [key, value]));
    },
  });
}

const unexpected = () => {
  throw new Error('upstream was asked');
};
const name = () => randomUUID();
/** Waits until some sources are followed: fetched by the leader, and awaited here. @returns what was begun. */
async function following<Begun>(begin: () => Begun, howMany = 1): Promise<{ follower: Begun }> {
  const followed = events.next('source.followed', {}, howMany);
  const follower = begin();
  await followed;
  return { follower };
}

/** Begins a fetch, which ends when `open` is called. */
async function leads(a: string, says: () => unknown = () => undefined, asking?: Asking) {
  const [asked, { reached, open }] = [gate(), gate()];
  const upstream = async () => {
    asked.open();
    await reached;
    return says();
  };
  const leading = obtain(here, [a], upstream, asking);
  leading.catch(() => {});
  await asked.reached;
  return { leading, open };
}

test("completes two calls that each follow the other's source", async () => {
  const [a, b] = [name(), name()];
  const both = await Promise.all([obtain(here, [a, b], () => 'here'), obtain(there, [b, a], () => 'there')]);
  for (const found of both) expect([...found.keys()].sort((x, y) => x.localeCompare(y))).toHaveLength(2);
});

test.each([
  ['timeout', new SoukError('UPSTREAM_TIMEOUT')],
  ['lack of tokens before its deadline', new SoukError('BUSY')],
  ['internal error', new TypeError('a bug')],
])("lets a follower take over after the leader's %s", async (_, error) => {
  const a = name();
  const { leading: failing, open } = await leads(a, () => {
    throw error;
  });
  const { follower } = await following(() => obtain(there, [a], () => 'thing'));
  open();
  await expect(failing).rejects.toBe(error);
  expect((await follower).get(a)).toMatchObject({ value: 'thing', fromCache: false });
});

test('lets a follower take over when the lease of a dead leader has expired', async () => {
  const a = name();
  const dead = await leads(a);
  const lease = keys.flight(`test/${a}`, false);
  expect(await redis.pttl(lease)).toBeLessThanOrEqual(15_000);
  const { follower } = await following(() => obtain(there, [a], () => 'rescued'));
  // While the lease is valid, the follower continues to wait after each check.
  await following(() => clock.advance(2_000));
  // The lease expires, as without a renewal.
  await redis.del(lease);
  clock.advance(2_000);
  expect((await follower).get(a)?.value).toBe('rescued');
  dead.open();
});

test('renews the lease of a living leader', async () => {
  const a = name();
  const { leading, open } = await leads(a);
  const lease = keys.flight(`test/${a}`, false);
  await redis.pexpire(lease, 10_000);
  clock.advance(5_000);
  await expect.poll(() => redis.pttl(lease)).toBeGreaterThan(10_000);
  open();
  await leading;
  expect(await redis.exists(lease)).toBe(0);
});

test('a call that cannot look up one of its sources leads the others no longer', async () => {
  const [a, unreadable] = [name(), name()];
  const stored = Buffer.alloc(13, 0xff);
  stored.writeDoubleBE(clock.now());
  await redis.set(keys.source(`test/${unreadable}`), stored);
  await expect(obtain(here, [a, unreadable], unexpected)).rejects.toThrow(
    'the stored source is of an unknown kind',
  );
  expect((await obtain(there, [a], () => 'thing')).get(a)?.value).toBe('thing');
});

test('fetches for a forced call, which neither uses the cache nor follows an unforced one', async () => {
  const a = name();
  await obtain(here, [a], () => 'old');
  const { reached, open } = gate();
  const asked: string[] = [];
  const ordinary = obtain(here, [a, name()], async () => {
    asked.push('ordinary');
    await reached;
    return 'ordinary';
  });
  await expect.poll(() => asked).toEqual(['ordinary']);
  const forced = await obtain(there, [a], () => 'forced', { maxAgeMs: 0 });
  expect(forced.get(a)).toMatchObject({ value: 'forced', fromCache: false });
  open();
  await ordinary;
  expect((await obtain(there, [a], unexpected)).get(a)?.value).toBe('forced');
});

test('fetches once for concurrent forced calls', async () => {
  const a = name();
  const { leading, open } = await leads(a, () => 'forced', { maxAgeMs: 0 });
  const { follower } = await following(() => obtain(there, [a], unexpected, { maxAgeMs: 0 }));
  open();
  await leading;
  expect((await follower).get(a)?.value).toBe('forced');
});

test('fails a follower at its own deadline', async () => {
  const a = name();
  const { leading, open } = await leads(a);
  const patience = new AbortController();
  const { follower } = await following(() => obtain(there, [a], unexpected, { signal: patience.signal }));
  const reason = new SoukError('UPSTREAM_TIMEOUT');
  patience.abort(reason);
  await expect(follower).rejects.toBe(reason);
  open();
  await leading;
});

test('a call that is run again after a wait for tokens counts each hit once, and none for what it has fetched itself', async () => {
  const [cached, own, awaited] = [name(), name(), name()];
  await obtain(there, [cached], () => 'thing');
  clock.advance(1_000);
  events.forget();
  const startedAt = clock.now();
  await obtain(here, [cached, own], () => 'thing', { startedAt });
  clock.advance(1_000);
  await obtain(here, [cached, own, awaited], () => 'thing', { startedAt, again: true });
  expect(events.seen('source.hit').map(({ tokens, isMerged }) => ({ tokens, isMerged }))).toEqual([
    { tokens: TOKENS_EACH, isMerged: false },
  ]);
  expect(events.seen('source.miss')).toHaveLength(2);
});

describe('a source that may be stale', () => {
  const HOUR = CACHE_LIFETIME_MS;
  const refuses = () => {
    throw new SoukError('UPSTREAM_ERROR', { metadata: { errorId: 'x' } });
  };
  const lasting = { keptForMs: 24 * HOUR, staleForMs: 24 * HOUR };
  const obtainLasting = (sources: Sources, names: string[], says: () => unknown) =>
    obtain(sources, names, says, { lasting });

  test('is not returned after its maximum age', async () => {
    const a = name();
    await obtainLasting(here, [a], () => 'old');
    clock.advance(24 * HOUR + 1);
    await expect(obtainLasting(here, [a], refuses)).rejects.toMatchObject({ kind: 'UPSTREAM_ERROR' });
  });

  test('is not returned for other errors, nor if the contract does not allow it', async () => {
    const a = name();
    await obtainLasting(here, [a], () => 'old');
    clock.advance(2 * HOUR);
    const slow = () => {
      throw new SoukError('UPSTREAM_TIMEOUT');
    };
    await expect(obtainLasting(here, [a], slow)).rejects.toMatchObject({ kind: 'UPSTREAM_TIMEOUT' });
    const plain = obtain(here, [a], refuses);
    await expect(plain).rejects.toMatchObject({ kind: 'UPSTREAM_ERROR' });
  });

  test('is returned to the followers of a refused leader', async () => {
    const a = name();
    await obtainLasting(here, [a], () => 'old');
    clock.advance(2 * HOUR);
    const { leading, open } = await leads(a, refuses, { lasting });
    const { follower } = await following(() => obtainLasting(there, [a], unexpected));
    open();
    expect((await leading).get(a)?.stale).toBe(true);
    expect((await follower).get(a)?.stale).toBe(true);
  });

  test('does not complete a call that also needs a source that was never fetched', async () => {
    const [a, b] = [name(), name()];
    await obtainLasting(here, [a], () => 'old');
    clock.advance(2 * HOUR);
    await expect(obtainLasting(here, [a, b], refuses)).rejects.toMatchObject({ kind: 'UPSTREAM_ERROR' });
  });
});
