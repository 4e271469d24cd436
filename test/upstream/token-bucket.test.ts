import { randomBytes } from 'node:crypto';
import fc from 'fast-check';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, beforeEach, describe, expect, inject, test } from 'vitest';
import { redisKeys } from '../../src/platform/redis-keys.ts';
import { createProviderAccounts, type ProviderAccounts } from '../../src/upstream/provider-accounts.ts';
import {
  readAccountState,
  readTokens,
  type TokenLease,
  TokensAwaited,
} from '../../src/upstream/token-bucket.ts';
import { TestClock } from '../support/clock.ts';

const MINUTE = 60_000;

let connections: Redis[];
let clock: TestClock;
let key: string;
/** The only account of two processes. */
let one: ProviderAccounts;
let two: ProviderAccounts;

beforeAll(() => {
  connections = [new Redis(inject('redisUrl')), new Redis(inject('redisUrl'))];
});
afterAll(() => Promise.all(connections.map((redis) => redis.quit())));
beforeEach(() => {
  [one, two] = newBuckets();
});

function newBuckets(): [ProviderAccounts, ProviderAccounts] {
  clock = new TestClock();
  const keys = redisKeys(`test-${randomBytes(6).toString('hex')}`);
  key = keys.tokens('provider', 'main');
  const accounts = { present: [{ name: 'main', key: 'the-key', state: 'active' } as const] };
  const shared = { keys, provider: 'provider', clock, accounts, onDue() {} };
  return connections.map((redis) => createProviderAccounts({ redis, ...shared })) as [
    ProviderAccounts,
    ProviderAccounts,
  ];
}

let stamp = 0;
function reading(tokensLeft: number, refillIn = 10 * MINUTE, refillRate = 10) {
  stamp += 1;
  return { tokensLeft, refillIn, refillRate, timestamp: stamp };
}

/** Takes tokens if they are available now. */
async function takeNow(
  bucket: ProviderAccounts,
  cost = 1,
  background = false,
): Promise<TokenLease | 'refused'> {
  const { signal } = new AbortController();
  try {
    return await bucket.take(cost, { signal, deadlineAt: clock.now(), background });
  } catch (error) {
    if (background) expect(error).toBeInstanceOf(TokensAwaited);
    else expect(error).toMatchObject({ kind: 'BUSY' });
    return 'refused';
  }
}

async function mustTake(bucket: ProviderAccounts, cost = 1): Promise<TokenLease> {
  const lease = await takeNow(bucket, cost);
  if (lease === 'refused') throw new Error('there should have been tokens');
  return lease;
}

/** Gives the bucket a reading, as the answer to a call does. */
async function learn(bucket: ProviderAccounts, ...facts: Parameters<typeof reading>): Promise<void> {
  await (await mustTake(bucket)).settle(reading(...facts));
}

async function balance(): Promise<number | undefined> {
  return (await readTokens(connections[0] as Redis, key, clock.now()))?.left;
}

const isLease = (taken: TokenLease | 'refused') => taken !== 'refused';

describe('the tokens of two processes', () => {
  test('are taken once by concurrent calls', async () => {
    await learn(one, 20);
    const taken = await Promise.all(Array.from({ length: 60 }, (_, i) => takeNow(i % 2 ? one : two)));
    expect(taken.filter(isLease)).toHaveLength(20);
  });

  test('follow the latest reading of the provider, in any order of arrival', async () => {
    await learn(one, 500);
    const [early, late] = [await mustTake(one), await mustTake(two)];
    const [older, newer] = [reading(490), reading(1)];
    await late.settle(newer);
    await early.settle(older);
    expect(isLease(await takeNow(one))).toBe(true);
    expect(await takeNow(two)).toBe('refused');
  });
});

describe('while the bucket is empty', () => {
  test('no call is sent, and all waiting calls are sent after the refill', async () => {
    await learn(one, 0, 20_000);
    const options = {
      signal: new AbortController().signal,
      deadlineAt: clock.now() + MINUTE,
      background: false,
    };
    const sentAt: number[] = [];
    const calls = [one, two, one].map(async (bucket) => {
      await bucket.take(1, options);
      sentAt.push(clock.now());
    });
    await clock.until('token refill', 3);
    const start = clock.now();
    clock.advance(MINUTE);
    await Promise.all(calls);
    expect(Math.min(...sentAt)).toBeGreaterThanOrEqual(start + 20_000);
  });

  test('calls wait until an overdraft has been refilled', async () => {
    // Ten a minute from the first tick on: 1 token is there after the fifth.
    await learn(one, -40, 30_000);
    const leaps = [30_000, MINUTE, MINUTE, MINUTE, MINUTE];
    const taken = [];
    for (const leap of leaps) {
      clock.advance(leap);
      taken.push(isLease(await takeNow(one)));
    }
    expect(taken).toEqual([false, false, false, false, true]);
  });

  test.each([
    ['keeps the rate of the last reading', () => learn(one, 100, MINUTE, 50), 50],
    ['is taken for one token a minute before the first reading', async () => {}, 1],
  ])('a refill after a 429 that does not mention tokens %s', async (_, before, perMinute) => {
    await before();
    const empty = { tokensLeft: 0, refillRate: null, refillIn: MINUTE, timestamp: null };
    await (await mustTake(one)).settle(empty, 'limited');
    const tokens = () => readTokens(connections[0] as Redis, key, clock.now());
    expect(await tokens()).toEqual({ left: 0, perMinute });
    clock.advance(MINUTE);
    expect(await tokens()).toEqual({ left: perMinute, perMinute });
  });

  test('a waiting call is sent within a minute after a reading of another call has more tokens', async () => {
    await learn(one, -1000, MINUTE);
    const { signal } = new AbortController();
    const waiting = one.take(1, { signal, deadlineAt: clock.now() + 200 * MINUTE, background: false });
    await clock.until('token refill');
    await two.bucketOf({ name: 'main', key: '' }).record(reading(100), null);
    clock.advance(MINUTE);
    expect(isLease(await waiting)).toBe(true);
  });

  test('a call with an earlier deadline than the refill is refused with Retry-After', async () => {
    await learn(one, 0, 45_000);
    const { signal } = new AbortController();
    const late = two.take(1, { signal, deadlineAt: clock.now() + 44_999, background: false });
    await expect(late).rejects.toMatchObject({ kind: 'BUSY', retryAfterSeconds: 45 });
  });

  test('an aborted call stops waiting', async () => {
    await learn(one, 0, 45_000);
    const controller = new AbortController();
    const waiting = one.take(1, {
      signal: controller.signal,
      deadlineAt: clock.now() + MINUTE,
      background: false,
    });
    await clock.until('token refill');
    controller.abort(new Error('given up'));
    await expect(waiting).rejects.toThrow('given up');
    expect(clock.countOf('token refill')).toBe(0);
  });
});

describe('the balance', () => {
  test('goes below zero for a call that costs more than the balance, as the provider allows', async () => {
    await learn(one, 300);
    const list = await mustTake(one, 500);
    expect(await takeNow(two)).toBe('refused');
    await list.settle({ spent: 500 });
    expect(await takeNow(two)).toBe('refused');
  });

  test('gets the tokens back that a call did not use', async () => {
    await learn(one, 10);
    const lease = await mustTake(one, 10);
    expect(await takeNow(two)).toBe('refused');
    await lease.settle({ spent: 0 });
    expect(isLease(await takeNow(two, 10))).toBe(true);
  });

  test('counts a call that is settled twice only once', async () => {
    await learn(one, 5);
    const lease = await mustTake(one, 2);
    const held = await mustTake(two, 3);
    await lease.settle(reading(4));
    await lease.settle(reading(4));
    // Three of the four leases are still held.
    expect([await takeNow(one), await takeNow(two)].map(isLease)).toEqual([true, false]);
    await held.settle({ spent: 3 });
  });

  test('grows with the refill up to the refill of one hour', async () => {
    await learn(one, 0, MINUTE, 2);
    clock.advance(24 * 60 * MINUTE);
    const taken = await Promise.all(Array.from({ length: 130 }, () => takeNow(one)));
    expect(taken.filter(isLease)).toHaveLength(120);
  });
});

describe('the reserve', () => {
  test('is available to interactive calls only', async () => {
    // An hour brings 600, a tenth of them is the reserve.
    await learn(one, 60);
    expect(await takeNow(two, 1, true)).toBe('refused');
    expect(isLease(await takeNow(two, 1, false))).toBe(true);
  });

  test('leaves the tokens above it to background calls', async () => {
    await learn(one, 63);
    const taken = [await takeNow(one, 1, true), await takeNow(two, 2, true), await takeNow(one, 1, true)];
    expect(taken.map(isLease)).toEqual([true, true, false]);
  });

  test('is not used by a background call that costs more than the tokens above it', async () => {
    await learn(one, 100);
    expect(await takeNow(two, 41, true)).toBe('refused');
    expect(isLease(await takeNow(two, 40, true))).toBe(true);
    expect(isLease(await takeNow(one, 60, false))).toBe(true);
  });

  test('is used, once the bucket is full, by a background call that costs more than all other tokens of the bucket', async () => {
    await learn(one, 590, MINUTE);
    expect(await takeNow(two, 700, true)).toBe('refused');
    clock.advance(MINUTE);
    expect(isLease(await takeNow(two, 700, true))).toBe(true);
  });

  test('determines how long a background call waits for the refill', async () => {
    await learn(one, 60, 20_000);
    const taking = two.take(25, { signal: new AbortController().signal, deadlineAt: 0, background: true });
    // Three refills of ten are needed: the first in twenty seconds, the others a minute apart.
    await expect(taking).rejects.toMatchObject({ waitMs: 140_000 });
  });
});

describe('tokens of a call without an answer', () => {
  test('are spent, and a reading that may be older does not bring them back', async () => {
    await learn(one, 10);
    const [older, lost] = [await mustTake(two), await mustTake(one, 4)];
    await lost.settle('lost');
    expect(await balance()).toBe(6);
    await older.settle(reading(9));
    expect(await balance()).toBe(5);
    // By now the provider has ended the call.
    clock.advance(180_000);
    await (await mustTake(two)).settle(reading(8));
    expect(await balance()).toBe(8);
  });

  test('are spent when the process has been dead for three minutes', async () => {
    await learn(one, 3);
    const undead = await mustTake(one, 2);
    clock.advance(180_000 - 1);
    const [last, none] = [await mustTake(two), await takeNow(two)];
    expect(none).toBe('refused');
    clock.advance(1);
    await last.settle({ spent: 1 });
    await (await mustTake(two)).settle({ spent: 0 });
    expect(await balance()).toBe(0);
    await undead.settle({ spent: 0 });
    expect(await balance()).toBe(0);
  });

  test('are of no call that is under way, once its process has been dead for three minutes', async () => {
    await mustTake(one);
    const underWay = async () => (await readAccountState(connections[0] as Redis, key, clock.now())).underWay;
    expect(await underWay()).toBe(1);
    clock.advance(180_000);
    expect(await underWay()).toBe(0);
  });

  test('leave an estimate: one call at a time asks the provider for the balance', async () => {
    await learn(one, 2);
    await (await mustTake(one, 40)).settle('lost');
    expect(await balance()).toBe(-38);
    const probe = await mustTake(two);
    expect(await takeNow(one)).toBe('refused');
    await probe.settle(reading(100));
    const taken = await Promise.all([takeNow(one), takeNow(two)]);
    expect(taken.map(isLease)).toEqual([true, true]);
  });
});

describe('before the first reading of the provider', () => {
  test('a few calls are sent, and the others wait for their readings', async () => {
    const taken: (TokenLease | 'refused')[] = [];
    for (let i = 0; i < 12; i += 1) taken.push(await takeNow(i % 2 ? one : two));
    const sent = taken.flatMap((lease) => (lease === 'refused' ? [] : [lease]));
    expect(sent.length).toBeGreaterThan(1);
    expect(sent.length).toBeLessThan(12);
    await sent[0]?.settle(reading(100));
    expect(isLease(await takeNow(one))).toBe(true);
  });

  test('calls whose answers have no reading do not block later calls', async () => {
    for (let i = 0; i < 30; i += 1) await (await mustTake(i % 2 ? one : two)).settle({ spent: 1 });
  });
});

test('after any sequence of events, a call is sent only while the provider has tokens', async () => {
  const step = fc.oneof(
    fc.record({ take: fc.integer({ min: 1, max: 8 }), by: fc.constantFrom(0, 1) }),
    fc.record({ answer: fc.nat(20), silent: fc.boolean() }),
    fc.record({ pass: fc.integer({ min: 1, max: 90_000 }) }),
  );
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 40 }), async (steps) => {
      const buckets = newBuckets();
      // The provider: five tokens a minute, twelve to begin with; it charges when it answers.
      const start = clock.now();
      let [left, ticks] = [12, 0];
      const open: { lease: TokenLease; cost: number }[] = [];
      const refill = () => {
        const passed = Math.floor((clock.now() - start) / MINUTE);
        left = Math.min(300, left + (passed - ticks) * 5);
        ticks = passed;
      };
      const state = () => reading(left, MINUTE - ((clock.now() - start) % MINUTE), 5);
      await (await mustTake(buckets[0])).settle(state());
      for (const action of steps) {
        refill();
        if ('pass' in action) clock.advance(action.pass);
        else if ('take' in action) {
          const lease = await takeNow(buckets[action.by] ?? one, action.take);
          const held = open.reduce((sum, { cost }) => sum + cost, 0);
          expect(isLease(lease)).toBe(left - held > 0);
          if (lease !== 'refused') open.push({ lease, cost: action.take });
        } else {
          const [ended] = open.splice(action.answer % Math.max(1, open.length), 1);
          if (!ended) continue;
          left -= ended.cost;
          await ended.lease.settle(action.silent ? { spent: ended.cost } : state());
        }
        // No lease expires in this test.
        if (clock.now() - start > 170_000) break;
      }
    }),
    { numRuns: 100 },
  );
});

/** The lifetime of a lease. A call ends before, or its process is dead or was stopped. */
const LEASE_MS = 180_000;

test('calls whose process was stopped until their leases had expired are spent once', async () => {
  await learn(one, 1_700, MINUTE, 100);
  const stopped = [await mustTake(one), await mustTake(one), await mustTake(one)];
  clock.advance(LEASE_MS);
  await mustTake(one);
  // The provider answered the three calls before their leases expired, so its readings contain them since then.
  const left = 1_700 + 3 * 100 - 3;
  expect(await balance()).toBe(left);
  await stopped[0]?.settle(reading(left, MINUTE, 100));
  await stopped[1]?.settle(reading(left, MINUTE, 100));
  await stopped[2]?.settle({ spent: 1 });
  clock.advance(30_000);
  expect(await balance()).toBe(left);
});

test('after any sequence of lost calls and dead processes, the balance is never above that of the provider', async () => {
  const end = fc.record({
    end: fc.nat(20),
    how: fc.constantFrom('answer' as const, 'silent' as const, 'lose' as const, 'die' as const),
    // The time from sending a call without an answer until the provider takes its tokens.
    chargedAfterMs: fc.constantFrom(0, 1_000, 60_000, LEASE_MS - 1, Number.POSITIVE_INFINITY),
  });
  const step = fc.oneof(
    { weight: 3, arbitrary: fc.record({ take: fc.integer({ min: 1, max: 8 }), by: fc.constantFrom(0, 1) }) },
    { weight: 3, arbitrary: end },
    { weight: 2, arbitrary: fc.record({ pass: fc.constantFrom(500, 30_000, 90_000, LEASE_MS) }) },
  );
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 40 }), async (steps) => {
      const buckets = newBuckets();
      const startedAt = clock.now();
      let [left, ticks] = [40, 0];
      let open: { lease: TokenLease; cost: number; at: number }[] = [];
      let due: { at: number; cost: number }[] = [];
      const catchUp = () => {
        const isOver = ({ at }: { at: number }) => clock.now() - at >= LEASE_MS;
        for (const { cost } of open.filter(isOver)) left -= cost;
        open = open.filter((call) => !isOver(call));
        for (const { at, cost } of due) if (at <= clock.now()) left -= cost;
        due = due.filter(({ at }) => at > clock.now());
        const passed = Math.floor((clock.now() - startedAt) / MINUTE);
        left += (passed - ticks) * 5;
        ticks = passed;
      };
      const state = () => reading(left, MINUTE - ((clock.now() - startedAt) % MINUTE), 5);
      await (await mustTake(buckets[0])).settle(state());
      for (const action of steps) {
        if ('pass' in action) clock.advance(action.pass);
        catchUp();
        if ('take' in action) {
          const lease = await takeNow(buckets[action.by] ?? one, action.take);
          if (lease !== 'refused') open.push({ lease, cost: action.take, at: clock.now() });
        } else if ('end' in action) {
          const [ended] = open.splice(action.end % Math.max(1, open.length), 1);
          if (!ended) continue;
          if (action.how === 'lose' || action.how === 'die')
            due.push({ at: ended.at + action.chargedAfterMs, cost: ended.cost });
          else left -= ended.cost;
          catchUp();
          if (action.how === 'answer') await ended.lease.settle(state());
          else if (action.how === 'silent') await ended.lease.settle({ spent: ended.cost });
          else if (action.how === 'lose') await ended.lease.settle('lost');
        }
        const held = await (connections[0] as Redis).get(`${key}:taken`);
        expect(((await balance()) ?? 0) - Number(held)).toBeLessThanOrEqual(left);
        // The balance never reaches an hour's refill in this test.
        if (clock.now() - startedAt > 50 * MINUTE) break;
      }
    }),
    { numRuns: 100 },
  );
});
