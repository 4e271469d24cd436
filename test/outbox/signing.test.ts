import fc from 'fast-check';
import { Webhook } from 'standardwebhooks';
import { expect, test } from 'vitest';
import { newSecret } from '../../src/outbox/webhooks/secrets.ts';
import { signedHeaders } from '../../src/outbox/webhooks/webhook-sender.ts';
import { maskSecrets } from '../../src/platform/log.ts';
import { verified } from '../support/receiver.ts';

const NOW = Date.parse('2026-05-01T08:30:00.750Z');
const ID = '0196a1b2-0000-7000-8000-000000000001';

const message = (payload: string, secrets: string[], at = NOW) => ({
  path: '/',
  body: payload,
  aborted: false,
  headers: signedHeaders({ id: ID, payload }, secrets, at),
});

// From the standard's own test vectors.
test('the signature equals the test vector of Standard Webhooks', () => {
  const secret = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw';
  const body = { id: 'msg_p5jXN8AQM9LWM0D4loKWxJek', payload: '{"test": 2432232314}' };
  expect(signedHeaders(body, [secret], 1_614_265_330_000)['webhook-signature']).toBe(
    'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=',
  );
});

test('each of the signing secrets verifies the signature of any text', () => {
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
])('a message with %s fails verification', (_what, change) => {
  const secret = newSecret();
  const sent = message('{"units":1}', [secret]);
  expect(verified(sent, secret, NOW)).toEqual({ units: 1 });
  change(sent);
  expect(() => verified(sent, secret, NOW)).toThrow('No matching signature');
});

test('a message that is repeated ten minutes later fails verification', () => {
  const secret = newSecret();
  const sent = message('{}', [secret]);
  expect(() => verified(sent, secret, NOW + 10 * 60_000)).toThrow('too old');
});

test('masks a secret in a log line', () => {
  const secret = newSecret();
  expect(maskSecrets(`{"err":"bad ${secret}, sorry"}`)).toBe('{"err":"bad whsec_***, sorry"}');
  expect(() => new Webhook(secret)).not.toThrow();
});
