import { describe, expect } from 'vitest';
import { hashKey, newKey } from '../../src/accounts/keys.ts';
import { createWrongKeys, WRONG_KEYS_A_MINUTE } from '../../src/accounts/wrong-keys.ts';
import { SoukError } from '../../src/platform/errors.ts';
import { TestClock } from '../support/clock.ts';
import type { Souk } from '../support/souk.ts';
import { test } from '../support/souk-test.ts';

test.override('soukOptions', { workers: 0 });

describe('over HTTP', () => {
  // The wrong keys of one test are forgotten before the next.
  test.beforeEach(({ souk }) => souk.clock.advance(120_000));

  const ask = (souk: Souk, key: string, gateway = 0) => souk.clientOf(key, gateway).get('/api/quota');

  test.for<[string, () => string]>([
    ['of new keys', newKey],
    ['of the same key', () => `km_${'a'.repeat(32)}`],
    ['of malformed keys', () => 'km_short'],
  ])(
    'tells the next to wait after many %s in a minute, until the minute is over',
    async ([_what, wrong], { souk }) => {
      for (let i = 0; i < WRONG_KEYS_A_MINUTE; i += 1) {
        const reply = await ask(souk, wrong());
        expect([reply.status, reply.json.code, reply.headers['retry-after']]).toEqual([
          401,
          '4001',
          undefined,
        ]);
      }
      souk.clock.advance(15_000);
      const slowed = await ask(souk, wrong());
      expect([slowed.status, slowed.json.code, slowed.headers['retry-after']]).toEqual([401, '4001', '45']);
      expect(slowed.json.msg).toContain('Wait 45 s');

      souk.clock.advance(45_000);
      expect((await ask(souk, wrong())).headers).not.toHaveProperty('retry-after');
    },
  );

  test('serves valid keys from an address that sends many wrong ones', async ({ souk }) => {
    const before = await souk.account();
    for (let i = 0; i < 3 * WRONG_KEYS_A_MINUTE; i += 1) {
      await ask(souk, newKey());
      if (i % 10 === 0) expect((await ask(souk, before.key)).status).toBe(200);
    }
    expect((await ask(souk, newKey())).headers).toHaveProperty('retry-after');
    const after = await souk.account();
    for (const { key } of [before, after]) {
      const reply = await ask(souk, key);
      expect([reply.status, reply.headers['retry-after']]).toEqual([200, undefined]);
    }
  });

  test('refuses a repeated wrong key without a query once its address must wait', async ({ souk }) => {
    const wrong = newKey();
    for (let i = 0; i <= WRONG_KEYS_A_MINUTE; i += 1) await ask(souk, wrong);
    // Without the database nobody could be looked up: this refusal is made of memory alone.
    await souk.database.query('alter table api_keys rename to api_keys_away');
    expect((await ask(souk, wrong)).status).toBe(401);
    expect((await ask(souk, newKey())).status).toBe(500);
    await souk.database.query('alter table api_keys_away rename to api_keys');
  });

  test('does not count missing keys, revoked keys or invalid parameters', async ({ souk }) => {
    const { key, accountId } = await souk.account();
    await souk.database.query('update api_keys set revoked_at = $2 where account_id = $1', [
      accountId,
      new Date(souk.clock.now()),
    ]);
    const good = await souk.client();
    for (let i = 0; i < 2 * WRONG_KEYS_A_MINUTE; i += 1) {
      expect((await souk.clientOf('').raw('/api/quota')).headers).not.toHaveProperty('retry-after');
      expect((await ask(souk, key)).status).toBe(403);
      expect((await good.get('/api/market/charturl?domain=99')).status).toBe(400);
    }
    expect((await ask(souk, newKey())).headers).not.toHaveProperty('retry-after');
  });
});

describe('by itself', () => {
  const refusal = () => new SoukError('KEY_INVALID');
  /** How many wrong keys of each address, in turn, are refused without being told to wait. */
  function patience(addresses: readonly string[]): number {
    const wrongKeys = createWrongKeys(new TestClock().now);
    for (let i = 0; ; i += 1) {
      const address = addresses[i % addresses.length] ?? '';
      if (wrongKeys.refuse(address, hashKey(newKey()), refusal()).retryAfterSeconds) return i;
    }
  }

  test.each([
    [['192.0.2.1'], WRONG_KEYS_A_MINUTE],
    [['192.0.2.1', '192.0.2.2'], 2 * WRONG_KEYS_A_MINUTE],
    [['::ffff:192.0.2.1', '::ffff:192.0.2.2'], 2 * WRONG_KEYS_A_MINUTE],
    [['2001:db8:1:2::1', '2001:0db8:1:2:3:4:5:6', '2001:db8:1:2:ffff::'], WRONG_KEYS_A_MINUTE],
    [['2001:db8:1:2::1', '2001:db8:1:3::1'], 2 * WRONG_KEYS_A_MINUTE],
    [['::1', '::2'], WRONG_KEYS_A_MINUTE],
    [['fe80::1%eth0', 'fe80::2%eth0'], WRONG_KEYS_A_MINUTE],
  ])('%s: counts by address, and by network for IPv6', (addresses, expected) => {
    expect(patience(addresses)).toBe(expected);
  });

  test('looks an unknown key up again after a minute, and at once for an address without wrong keys', () => {
    const clock = new TestClock();
    const wrongKeys = createWrongKeys(clock.now);
    const digest = hashKey(newKey());
    for (let i = 0; i < WRONG_KEYS_A_MINUTE; i += 1) wrongKeys.refuse('192.0.2.1', digest, refusal());
    expect(() => wrongKeys.check('192.0.2.1', digest)).toThrow(SoukError);
    expect(() => wrongKeys.check('192.0.2.1', hashKey(newKey()))).not.toThrow();
    expect(() => wrongKeys.check('192.0.2.2', digest)).not.toThrow();
    clock.advance(59_999);
    expect(() => wrongKeys.check('192.0.2.1', digest)).toThrow(SoukError);
    clock.advance(1);
    expect(() => wrongKeys.check('192.0.2.1', digest)).not.toThrow();
  });

  test('bounds memory for any number of addresses and keys', () => {
    const wrongKeys = createWrongKeys(new TestClock().now);
    const address = (i: number) => `10.${(i >> 16) & 255}.${(i >> 8) & 255}.${i & 255}`;
    for (let i = 0; i <= WRONG_KEYS_A_MINUTE; i += 1) wrongKeys.refuse('192.0.2.1', null, refusal());
    for (let i = 0; i < 20_000; i += 1) wrongKeys.refuse(address(i), null, refusal());
    // The first has been forgotten, which costs it nothing.
    expect(wrongKeys.refuse('192.0.2.1', null, refusal()).retryAfterSeconds).toBeUndefined();
  });
});
