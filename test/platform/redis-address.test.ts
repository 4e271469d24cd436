import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { parseRedisAddress, RedisAddressError } from '../../src/platform/redis-address.ts';

test.each([
  ['redis://h', { form: 'server', nodes: [{ host: 'h', port: 6379 }], db: 0 }],
  [
    'redis://:p%40w%3a%2f@10.0.0.1:1234/2',
    { form: 'server', nodes: [{ host: '10.0.0.1', port: 1234 }], db: 2, password: 'p@w:/' },
  ],
  [
    'rediss://u:p:q@h:1',
    { form: 'server', nodes: [{ host: 'h', port: 1 }], db: 0, username: 'u', password: 'p:q', tls: {} },
  ],
  [
    'redis+sentinel://u:p@a:1,b,[::1]:3/main/4',
    {
      form: 'sentinel',
      nodes: [
        { host: 'a', port: 1 },
        { host: 'b', port: 26379 },
        { host: '::1', port: 3 },
      ],
      masterName: 'main',
      db: 4,
      username: 'u',
      password: 'p',
    },
  ],
  [
    'rediss+cluster://a:7000,b/0',
    {
      form: 'cluster',
      nodes: [
        { host: 'a', port: 7000 },
        { host: 'b', port: 6379 },
      ],
      db: 0,
      tls: {},
    },
  ],
] as const)('reads the address %s', (address, expected) => {
  expect(parseRedisAddress(address)).toEqual(expected);
});

test('reads the files of a rediss address', () => {
  const folder = mkdtempSync(join(tmpdir(), 'souk-redis-'));
  try {
    const file = join(folder, 'ca.pem');
    writeFileSync(file, 'certificate');
    const { tls } = parseRedisAddress(
      `rediss://h:1?ssl_ca_certs=${file}&ssl_certfile=${file}&ssl_keyfile=${file}`,
    );
    const content = Buffer.from('certificate');
    expect(tls).toEqual({ ca: content, cert: content, key: content });
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test.each([
  ['', 'must be redis://host:port'],
  ['http://h:1', 'must be redis://host:port'],
  ['redis+cluster://', 'must be redis://host:port'],
  ['redis+other://h:1', 'must be redis://host:port'],
  ['redis://a:1,b:2', 'several servers'],
  ['redis://h:99999', 'invalid server h:99999'],
  ['redis+cluster://a:1,,b:2', 'invalid server'],
  ['redis+sentinel://a:1', 'name of the master'],
  ['redis://h/x', 'invalid database'],
  ['redis://h/1/2', 'invalid database'],
  ['redis+cluster://h/1', 'only database 0'],
  ['redis://:100%@h', 'write it as %25'],
  ['rediss://h?ssl_ca_certs=/no/such/file', 'cannot be read'],
  ['rediss://h?ssl_ca_cert=/x', 'unknown parameter ssl_ca_cert;'],
])('refuses the address "%s" with a message about "%s"', (address, part) => {
  expect(() => parseRedisAddress(address)).toThrow(RedisAddressError);
  expect(() => parseRedisAddress(address)).toThrow(part);
});
