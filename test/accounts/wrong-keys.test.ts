import { describe, expect } from 'vitest';
import { createWrongKeys } from '../../src/accounts/attempts.ts';
import { hashKey, newKey } from '../../src/accounts/authentication.ts';
import { SoukError } from '../../src/platform/errors.ts';
import { TestClock } from '../support/clock.ts';
import type { Souk } from '../support/souk.ts';
import { test } from '../support/souk-test.ts';

const LIMIT = 20;

test.override('soukOptions', { workers: 0, limits: { unknownKeysPerMinute: LIMIT } });

describe('over HTTP', () => {
  const ask = (souk: Souk, key: string) => souk.clientOf(key).get('/api/quota');

  test('refuses an address that has sent too many unknown keys, and serves valid keys there', async ({
    ownSouk: souk,
  }) => {
    const [known, other] = [await souk.account(), await souk.account()];
    expect((await ask(souk, known.key)).status).toBe(200);
    for (let i = 0; i < LIMIT; i += 1) expect((await ask(souk, newKey())).json.code).toBe('4001');
    const { status, json, headers } = await ask(souk, newKey());
    expect([status, json.code]).toEqual([429, 'TOO_MANY_ATTEMPTS']);
    expect(Number(headers['retry-after'])).toBeLessThanOrEqual(60);
    expect(json.msg).toContain(`Wait ${headers['retry-after']} s`);
    expect((await ask(souk, known.key)).status).toBe(200);
    expect((await ask(souk, other.key)).status).toBe(200);
  });

  test('counts a repeated unknown key once, and looks it up once a minute', async ({ ownSouk: souk }) => {
    const unknown = newKey();
    expect((await ask(souk, unknown)).status).toBe(401);
    await souk.database.query('alter table api_keys rename to api_keys_away');
    for (let i = 0; i < 2 * LIMIT; i += 1) expect((await ask(souk, unknown)).status).toBe(401);
    expect((await ask(souk, newKey())).status).toBe(500);
    await souk.database.query('alter table api_keys_away rename to api_keys');
    const { key } = await souk.account();
    expect((await ask(souk, key)).status).toBe(200);
  });

  test('does not count missing, malformed or revoked keys', async ({ souk }) => {
    const { key, accountId } = await souk.account();
    await souk.database.query('update api_keys set revoked_at = $2 where account_id = $1', [
      accountId,
      new Date(souk.clock.now()),
    ]);
    for (let i = 0; i < 2 * LIMIT; i += 1) {
      expect((await souk.clientOf('').raw('/api/quota')).status).toBe(401);
      expect((await ask(souk, `km_short${i}`)).status).toBe(401);
      expect((await ask(souk, key)).status).toBe(403);
    }
    expect((await ask(souk, newKey())).status).toBe(401);
  });
});

describe('by itself', () => {
  const isUnknown = async () => {
    throw new SoukError('KEY_INVALID');
  };

  /** How many unknown keys of each address, in turn, are looked up before one is refused. */
  async function lookUps(addresses: readonly string[]): Promise<number> {
    const wrongKeys = createWrongKeys(() => 0, LIMIT);
    for (let i = 0; ; i += 1) {
      const address = addresses[i % addresses.length] ?? '';
      const keyHash = hashKey(newKey());
      const error = await wrongKeys
        .lookUp(address, keyHash, isUnknown)
        .catch((refusal: SoukError) => refusal);
      if (error.kind === 'TOO_MANY_ATTEMPTS') return i;
      wrongKeys.count(address, keyHash);
    }
  }

  test.each([
    [['192.0.2.1'], LIMIT],
    [['192.0.2.1', '192.0.2.2'], 2 * LIMIT],
    [['2001:db8:1:2::1', '2001:0db8:1:2:3:4:5:6', '2001:db8:1:2:ffff::'], LIMIT],
    [['2001:db8:1:2::1', '2001:db8:1:3::1'], 2 * LIMIT],
  ])('%s: counts by address, and by network for IPv6', async (addresses, expected) => {
    expect(await lookUps(addresses)).toBe(expected);
  });

  test('looks an unknown key up again after a minute', async () => {
    const clock = new TestClock();
    const wrongKeys = createWrongKeys(clock.now, LIMIT);
    const keyHash = hashKey(newKey());
    const lookUp = () => wrongKeys.lookUp('192.0.2.2', keyHash, async () => 'looked up');
    wrongKeys.count('192.0.2.1', keyHash);
    clock.advance(59_999);
    await expect(lookUp()).rejects.toThrow(SoukError);
    clock.advance(1);
    expect(await lookUp()).toBe('looked up');
  });

  test('looks up at most 100 further keys of a network in a second, and those of another', async () => {
    const wrongKeys = createWrongKeys(() => 0, 1);
    let lookedUp = 0;
    const lookUp = (address: string, i: number) =>
      wrongKeys.lookUp(address, hashKey(`${address} ${i}`), async () => {
        lookedUp += 1;
      });
    for (const address of ['192.0.2.1', '192.0.2.2']) wrongKeys.count(address, hashKey(address));
    const flood = await Promise.allSettled(Array.from({ length: 110 }, (_, i) => lookUp('192.0.2.1', i)));
    expect(flood.filter(({ status }) => status === 'rejected')).toHaveLength(10);
    await lookUp('192.0.2.2', 0);
    expect(lookedUp).toBe(101);
  });
});
