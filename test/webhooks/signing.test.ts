import fc from 'fast-check';
import { Webhook } from 'standardwebhooks';
import { expect, test } from 'vitest';
import { maskSecrets } from '../../src/platform/log.ts';
import { newSecret, signedHeaders } from '../../src/webhooks/signing.ts';
import { verified } from '../support/receiver.ts';

const NOW = Date.parse('2026-05-01T08:30:00.750Z');
const ID = '0196a1b2-0000-7000-8000-000000000001';

const message = (payload: string, secrets: string[], at = NOW) => ({
  path: '/',
  body: payload,
  aborted: false,
  headers: signedHeaders({ id: ID, payload }, secrets, at),
});

test('a secret has the form of the standard, 32 bytes of its own', () => {
  const secrets = Array.from({ length: 50 }, newSecret);
  for (const secret of secrets) {
    const [, encoded = ''] = /^whsec_([A-Za-z0-9+/]+=*)$/.exec(secret) ?? [];
    expect(Buffer.from(encoded, 'base64')).toHaveLength(32);
  }
  expect(new Set(secrets).size).toBe(50);
});

test('the headers are id, seconds and a signature of version 1', () => {
  const headers = signedHeaders({ id: ID, payload: '{}' }, [newSecret()], NOW);
  expect(headers).toEqual({
    'webhook-id': ID,
    'webhook-timestamp': String(Date.parse('2026-05-01T08:30:00Z') / 1000),
    'webhook-signature': expect.stringMatching(/^v1,[A-Za-z0-9+/]{43}=$/),
  });
});

// From the standard's own test vectors.
test('the signature is the one that the standard gives as its example', () => {
  const secret = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw';
  const body = { id: 'msg_p5jXN8AQM9LWM0D4loKWxJek', payload: '{"test": 2432232314}' };
  expect(signedHeaders(body, [secret], 1_614_265_330_000)['webhook-signature']).toBe(
    'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=',
  );
});

test('whoever holds any of the secrets can verify, whatever the text', () => {
  const [old, present, other] = [newSecret(), newSecret(), newSecret()];
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme' }), (text) => {
      const sent = message(JSON.stringify({ text }), [present, old]);
      for (const secret of [old, present]) expect(verified(sent, secret, NOW)).toEqual({ text });
      expect(() => verified(sent, other, NOW)).toThrow('No matching signature');
    }),
    { numRuns: 50 },
  );
});

test.each<[string, (sent: ReturnType<typeof message>) => void]>([
  ['another body', (sent) => void Object.assign(sent, { body: '{"units":2}' })],
  ['another id', (sent) => void Object.assign(sent.headers, { 'webhook-id': ID.replace('1', '2') })],
  ['another time', (sent) => void Object.assign(sent.headers, { 'webhook-timestamp': '1777624201' })],
])('%s is noticed', (_what, change) => {
  const secret = newSecret();
  const sent = message('{"units":1}', [secret]);
  expect(verified(sent, secret, NOW)).toEqual({ units: 1 });
  change(sent);
  expect(() => verified(sent, secret, NOW)).toThrow('No matching signature');
});

test('a message that was recorded cannot be played in again later', () => {
  const secret = newSecret();
  const sent = message('{}', [secret]);
  expect(() => verified(sent, secret, NOW + 10 * 60_000)).toThrow('too old');
});

test('a secret that gets into a log line is masked', () => {
  const secret = newSecret();
  expect(maskSecrets(`{"err":"bad ${secret}, sorry"}`)).toBe('{"err":"bad whsec_***, sorry"}');
  expect(() => new Webhook(secret)).not.toThrow();
});
