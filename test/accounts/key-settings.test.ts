import { describe, expect, test } from 'vitest';
import {
  changedSettings,
  isInScope,
  type KeySettings,
  keySettingsSchema,
  OPERATION_SCOPES,
  requireWithin,
  SCOPES,
  WITHOUT_LIMITS,
} from '../../src/accounts/key-settings.ts';
import { isInNetworks, networksOf, normalNetwork } from '../../src/accounts/networks.ts';
import { OPERATIONS } from '../../src/operations/index.ts';

const NOW = Date.parse('2026-11-23T00:00:00Z');
const settings = (some: Partial<KeySettings>): KeySettings => ({ ...WITHOUT_LIMITS, ...some });

test('every operation belongs to one scope, and every scope of operations has some', () => {
  const toolsets = new Set(OPERATIONS.map(({ toolset }) => toolset));
  toolsets.delete('account');
  expect([...toolsets].sort()).toEqual([...OPERATION_SCOPES].sort());
});

test('a key without scopes has all but keys', () => {
  expect(SCOPES.filter((scope) => !isInScope(null, [scope]))).toEqual(['keys']);
});

describe('networks', () => {
  test.each([
    ['203.0.113.7', '203.0.113.7/32'],
    ['203.0.113.7/24', '203.0.113.0/24'],
    ['0.0.0.0/0', '0.0.0.0/0'],
    ['2001:DB8:0::1/64', '2001:db8::/64'],
    ['::ffff:10.1.2.3', '10.1.2.3/32'],
    ['::ffff:10.1.2.3/104', '10.0.0.0/8'],
    ['10.1', null],
    ['010.1.1.1', null],
    ['10.1.1.256', null],
    ['10.0.0.0/33', null],
    ['fe80::1%eth0/64', null],
    ['::ffff:10.1.2.3/64', null],
    ['example.com', null],
    ['', null],
  ])('%s has the normal form %s', (sent, normal) => {
    expect(normalNetwork(sent)).toBe(normal);
  });

  test.each([
    ['203.0.113.7', true],
    ['::ffff:203.0.113.7', true],
    ['203.0.114.7', false],
    ['2001:db8::5', true],
    ['2001:db9::5', false],
    ['', false],
    ['unknown', false],
  ])('%s is in 203.0.113.0/24 or 2001:db8::/32: %s', (address, isIn) => {
    expect(isInNetworks(address, networksOf(['203.0.113.0/24', '2001:db8::/32']))).toBe(isIn);
  });
});

describe('rights that a key may give', () => {
  const own = settings({
    scopes: ['read', 'products', 'keys'],
    expiresAt: new Date(NOW + 1_000),
    networks: ['10.0.0.0/8', '2001:db8::/32'],
  });

  test.each<[string, Partial<KeySettings>]>([
    ['a part of its own', { scopes: ['read'], expiresAt: new Date(NOW), networks: ['10.2.0.0/16'] }],
    ['the same as its own', { ...own, capDay: 5 }],
  ])('include %s', (_what, given) => {
    expect(() => requireWithin(settings(given), own)).not.toThrow();
  });

  test.each<[string, Partial<KeySettings>]>([
    ['scopes', { ...own, scopes: ['products', 'deals'] }],
    ['scopes', { ...own, scopes: null }],
    ['expiresAt', { ...own, expiresAt: null }],
    ['expiresAt', { ...own, expiresAt: new Date(NOW + 1_001) }],
    ['networks', { ...own, networks: null }],
    ['networks', { ...own, networks: ['10.2.0.0/16', '11.0.0.0/16'] }],
    ['networks', { ...own, networks: ['0.0.0.0/0'] }],
    ['networks', { ...own, networks: ['2001::/16'] }],
  ])('do not include wider %s', (parameter, given) => {
    expect(() => requireWithin(settings(given), own)).toThrow(
      expect.objectContaining({
        kind: 'KEY_RIGHTS_EXCEEDED',
        metadata: { errors: [expect.objectContaining({ parameter })] },
      }),
    );
  });

  test('do not include everything for a key with some scopes', () => {
    const manager = settings({ scopes: ['keys'] });
    expect(() => requireWithin(settings({ scopes: null }), manager)).toThrow(/scopes: must be among/);
  });
});

describe('settings', () => {
  const read = (sent: object, present = WITHOUT_LIMITS) =>
    changedSettings(present, keySettingsSchema.parse(sent), NOW);

  test('have normal networks and scopes, each once', () => {
    expect(read({ scopes: ['products', 'read', 'read'], networks: ['10.1.2.3/8', '10.0.0.0/8'] })).toEqual(
      settings({ scopes: ['read', 'products'], networks: ['10.0.0.0/8'] }),
    );
  });

  test('stay as they are if a change leaves them out, and are removed by null', () => {
    const present = settings({ name: 'A', capDay: 5, scopes: ['read'], expiresAt: new Date(NOW - 1) });
    expect(read({ capMonth: 9 }, present)).toEqual({ ...present, capMonth: 9 });
    expect(read({ name: null, capDay: null, scopes: null, expiresAt: null }, present)).toEqual(
      WITHOUT_LIMITS,
    );
  });

  test.each<[string, object]>([
    ['an expiry in the past', { expiresAt: '2026-11-22T23:59:59Z' }],
    ['a cap with the scope keys', { scopes: ['keys'], capMonth: 1 }],
    ['a cap of 0', { capDay: 0 }],
    ['no scope', { scopes: [] }],
    ['an unknown scope', { scopes: ['everything'] }],
    ['an unknown setting', { cap: 5 }],
    ['51 networks', { networks: Array.from({ length: 51 }, (_, i) => `10.0.0.${i}`) }],
    ['a host name as network', { networks: ['example.com'] }],
  ])('with %s are refused', (_what, sent) => {
    expect(() => read(sent)).toThrow();
  });
});
