import { randomBytes } from 'node:crypto';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, beforeEach, expect, inject, test } from 'vitest';
import { redisKeys } from '../../src/platform/redis-keys.ts';
import {
  createProviderAccounts,
  type ProviderAccounts,
  type UsableAccount,
} from '../../src/upstream/provider-accounts.ts';
import { readAccountState, TokensAwaited } from '../../src/upstream/token-bucket.ts';
import { TestClock } from '../support/clock.ts';

const MINUTE = 60_000;
const SET_ASIDE_MS = 15_000;
const LONGEST_SET_ASIDE_MS = 600_000;

let redis: Redis;
let clock: TestClock;
let keyOf: (name: string) => string;
let usable: { present: readonly UsableAccount[] };
let accounts: ProviderAccounts;
/** The accounts about which the provider was to be asked. */
let due: string[];

beforeAll(() => {
  redis = new Redis(inject('redisUrl'));
});
afterAll(() => redis.quit());
beforeEach(() => {
  clock = new TestClock();
  due = [];
  usable = {
    present: ['one', 'two', 'three'].map((name) => ({ name, key: `key-${name}`, state: 'active' })),
  };
  const keys = redisKeys(`test-${randomBytes(6).toString('hex')}`);
  keyOf = (name) => keys.tokens('provider', name);
  accounts = createProviderAccounts({
    redis,
    keys,
    provider: 'provider',
    clock,
    accounts: usable,
    onDue: ({ name }) => due.push(name),
  });
});

/** A call, which keeps its account. */
function newCall(background = false) {
  return { signal: new AbortController().signal, deadlineAt: clock.now(), background };
}

/** @returns the name of the account that a call gets now; null if there is none. */
async function take(call = newCall(), cost = 1): Promise<string | null> {
  try {
    const { account } = await accounts.take(cost, call);
    return account.name;
  } catch (error) {
    if (call.background) expect(error).toBeInstanceOf(TokensAwaited);
    else expect(error).toMatchObject({ kind: 'BUSY' });
    return null;
  }
}

const takeOften = (times: number, background = false) =>
  Promise.all(Array.from({ length: times }, () => take(newCall(background))));

let stamp = 0;
/** Gives accounts these tokens, with ten more a minute. */
async function learn(tokens: Record<string, number>, refillIn = MINUTE): Promise<void> {
  for (const [name, tokensLeft] of Object.entries(tokens)) {
    stamp += 1;
    const reading = { tokensLeft, refillIn, refillRate: 10, timestamp: stamp };
    await accounts.bucketOf({ name, key: '' }).record(reading, null);
  }
}

/** Tells what answers have said about an account. */
async function report(name: string, ...answers: ('refused' | 'failed' | 'timeout' | 'well')[]) {
  for (const health of answers) await accounts.bucketOf({ name, key: '' }).record({ spent: 0 }, health);
}

const counted = (names: readonly (string | null)[]) =>
  Object.fromEntries([...new Set(names)].map((name) => [name, names.filter((one) => one === name).length]));

test('calls use the tokens of all accounts', async () => {
  await learn({ one: 5, two: 3, three: 0 });
  expect(counted(await takeOften(12))).toEqual({ one: 5, two: 3, null: 4 });
});

test('a call waits for the account that has tokens first', async () => {
  await learn({ one: -25, three: -25 }, MINUTE);
  await learn({ two: 0 }, 20_000);
  const taking = accounts.take(1, { ...newCall(), deadlineAt: clock.now() + MINUTE });
  await clock.until('token refill');
  clock.advance(20_000);
  expect((await taking).account.name).toBe('two');
  await expect(accounts.take(1, newCall(true))).rejects.toMatchObject({ waitMs: 6 * MINUTE });
});

test('background calls leave the reserve of each account to other calls', async () => {
  // An hour brings 600, and a tenth of them is the reserve.
  await learn({ one: 63, two: 61, three: 40 });
  expect(counted(await takeOften(6, true))).toEqual({ one: 3, two: 1, null: 2 });
  expect(counted(await takeOften(3))).not.toHaveProperty('null');
});

test('a call keeps its account while that has tokens', async () => {
  await learn({ one: 20, two: 20, three: 20 });
  const call = newCall();
  const first = await take(call);
  const pages = [await take(call), await take(call), await take(call)];
  expect(new Set(pages)).toEqual(new Set([first]));
  await learn({ [first ?? '']: 0 });
  expect(await take(call)).not.toBe(first);
});

test('an account whose key is refused is set aside, and the provider is asked about it once', async () => {
  await learn({ one: 50, two: 50, three: 50 });
  await report('two', 'refused');
  expect(await takeOften(9)).not.toContain('two');
  clock.advance(SET_ASIDE_MS);
  expect(await takeOften(9)).not.toContain('two');
  expect(due).toEqual(['two']);
  await accounts.bucketOf({ name: 'two', key: '' }).record({ spent: 0 }, 'works again');
  clock.advance(1_000);
  expect(await takeOften(9)).toContain('two');
  // Until a call has succeeded, another failure sets it aside for twice as long.
  await report('two', 'failed');
  clock.advance(2 * SET_ASIDE_MS - 1);
  expect(await takeOften(9)).not.toContain('two');
  expect(due).toEqual(['two']);
  clock.advance(1);
  await takeOften(9);
  expect(due).toEqual(['two', 'two']);
});

test('the time for which an account is set aside grows up to ten minutes', async () => {
  const rests: number[] = [];
  await report('one', 'refused');
  for (let i = 0; i < 9; i += 1) {
    const { trouble } = await readAccountState(redis, keyOf('one'), clock.now());
    rests.push((trouble?.until?.getTime() ?? 0) - clock.now());
    clock.advance(rests.at(-1) ?? 0);
    await takeOften(3);
    await report('one', 'refused');
  }
  expect(rests.slice(0, 3)).toEqual([SET_ASIDE_MS, 2 * SET_ASIDE_MS, 4 * SET_ASIDE_MS]);
  expect(rests.slice(-2)).toEqual([LONGEST_SET_ASIDE_MS, LONGEST_SET_ASIDE_MS]);
});

test('an account is set aside after three failures in a row, however many calls fail at the same time', async () => {
  await report('one', 'failed', 'timeout', 'well', 'failed', 'failed');
  expect((await readAccountState(redis, keyOf('one'), clock.now())).trouble).toMatchObject({
    reason: 'failed',
    until: null,
  });
  await report('one', 'timeout', 'timeout', 'failed', 'failed', 'failed', 'failed');
  const { trouble } = await readAccountState(redis, keyOf('one'), clock.now());
  expect(trouble?.until?.getTime()).toBe(clock.now() + SET_ASIDE_MS);
  await report('one', 'well');
  expect((await readAccountState(redis, keyOf('one'), clock.now())).trouble).toBeNull();
});

test('accounts that were all set aside are used', async () => {
  for (const { name } of usable.present) await report(name, 'refused');
  expect(await takeOften(3)).not.toContain(null);
});

test('the only account is used even if its key was refused', async () => {
  usable.present = usable.present.slice(0, 1);
  await report('one', 'refused');
  expect(await take()).toBe('one');
});

test('a call takes another account than those on which it has failed', async () => {
  await learn({ one: 50, two: 50, three: 50 });
  const call = newCall();
  const taken = new Set<string>();
  for (const _ of usable.present) taken.add((await accounts.take(1, call, taken)).account.name);
  expect([...taken].sort()).toEqual(['one', 'three', 'two']);
  expect(taken).toContain((await accounts.take(1, call, taken)).account.name);
});

test('a paused account is not used, and a draining one only by the calls that have used it', async () => {
  await learn({ one: 50, two: 50, three: 50 });
  const calls = Array.from({ length: 9 }, () => newCall());
  const before = await Promise.all(calls.map((call) => take(call)));
  usable.present = usable.present.map((one) => ({
    ...one,
    state: one.name === 'one' ? 'draining' : 'active',
  }));
  expect(await Promise.all(calls.map((call) => take(call)))).toEqual(before);
  expect(before).toContain('one');
  expect(await takeOften(9)).not.toContain('one');
  usable.present = usable.present.map((one) => ({ ...one, state: one.name === 'two' ? 'active' : 'paused' }));
  expect(new Set([...(await takeOften(9)), ...(await Promise.all(calls.map((call) => take(call))))])).toEqual(
    new Set(['two']),
  );
});

test('a call is refused with 503 BUSY, and a background call waits, while no account is active', async () => {
  usable.present = usable.present.map((one) => ({ ...one, state: 'paused' }));
  await expect(accounts.take(1, newCall())).rejects.toMatchObject({
    kind: 'BUSY',
    message: 'No account at the data provider is active.',
  });
  expect(await take(newCall(true))).toBeNull();
});

test('keys are removed from texts', async () => {
  await take();
  expect(accounts.withoutKeys('key-one, key-two and key-3')).toBe('***, *** and key-3');
});
