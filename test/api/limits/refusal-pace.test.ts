import { expect } from 'vitest';
import { newKey } from '../../../src/accounts/authentication.ts';
import type { Reply } from '../../support/client.ts';
import { sendRaw } from '../../support/raw-request.ts';
import type { Souk } from '../../support/souk.ts';
import { test } from '../../support/souk-test.ts';

/** Refusals that a client receives without delay in a window of five seconds. */
const LIMIT = 10;

test.override('soukOptions', { workers: 0, limits: { refusalsPerSecond: LIMIT / 5 } });

/** Sends requests at the same time, and waits for those whose refusal is delayed. */
async function sendAll(
  souk: Souk,
  send: () => Promise<Reply>,
  { count, delayed }: { count: number; delayed: number },
): Promise<Reply[]> {
  const replies = Array.from({ length: count }, send);
  if (delayed > 0) await souk.clock.until('refusal', delayed);
  expect(souk.clock.countOf('refusal')).toBe(delayed);
  souk.clock.advance(1_000);
  return Promise.all(replies);
}

test('delays refusals to an account beyond the limit, but not its answers and not other accounts', async ({
  ownSouk: souk,
}) => {
  const client = await souk.client();
  const refused = () => client.get('/api/market/product?domain=99');
  const replies = await sendAll(souk, refused, { count: LIMIT + 5, delayed: 5 });
  expect(new Set(replies.map(({ status }) => status))).toEqual(new Set([400]));
  await sendAll(souk, () => client.get('/api/quota'), { count: 20, delayed: 0 });
  const other = await souk.client();
  await sendAll(souk, () => other.get('/api/market/product?domain=99'), { count: LIMIT, delayed: 0 });
  const metrics = await souk.gateways[0]?.registry.metrics();
  expect(metrics).toMatch(/^souk_refusals_delayed_total 5$/m);
});

test.for<[string, (souk: Souk) => Promise<Reply>]>([
  ['unknown keys', (souk) => souk.clientOf(newKey()).get('/api/quota')],
  ['addresses that do not exist', (souk) => souk.clientOf('').raw('/nowhere')],
  ['forms without a token', (souk) => souk.clientOf('').raw('/sign-in', { method: 'POST' })],
])('delays refusals to an address beyond the limit: %s', async ([, send], { ownSouk: souk }) => {
  await sendAll(souk, () => send(souk), { count: 2 * LIMIT, delayed: LIMIT });
});

test('counts refusals of large bodies as 20 for the network, not for the account, and delays them by five seconds', async ({
  ownSouk: souk,
}) => {
  const client = await souk.client();
  const headers = { 'x-api-key': client.key, 'content-type': 'application/json', 'content-length': 100_000 };
  const path = '/api/market/productfinder';
  const { socket, response } = sendRaw(client.baseUrl, { path, headers });
  await souk.clock.until('refusal');
  souk.clock.advance(4_999);
  expect(souk.clock.countOf('refusal')).toBe(1);
  await sendAll(souk, () => client.get('/api/market/product?domain=99'), { count: LIMIT, delayed: 1 });
  expect((await response).status).toBe(413);
  socket.destroy();
});
