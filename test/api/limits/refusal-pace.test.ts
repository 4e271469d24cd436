import { expect } from 'vitest';
import { newKey } from '../../../src/accounts/keys.ts';
import type { RunningGateway } from '../../../src/gateway/open-gateway.ts';
import type { Reply } from '../../support/client.ts';
import type { Souk } from '../../support/souk.ts';
import { test } from '../../support/souk-test.ts';

/** Refusals that a client receives without delay in a window of five seconds. */
const LIMIT = 10;

test.override('soukOptions', { workers: 0, limits: { refusalsPerSecond: LIMIT / 5 } });

const delaysOf = async (souk: Souk) =>
  Number(
    /^souk_refusals_delayed_total (\d+)$/m.exec(
      await (souk.gateways[0] as RunningGateway).registry.metrics(),
    )?.[1] ?? 0,
  );

/** Sends requests at once. @returns how many refusals were sent late. */
async function delaysDuring(souk: Souk, send: () => Promise<Reply>, count: number): Promise<number> {
  const before = await delaysOf(souk);
  await Promise.all(Array.from({ length: count }, send));
  return (await delaysOf(souk)) - before;
}

test('delays refusals to an account beyond the limit, but not its answers or those to other accounts', async ({
  souk,
  client,
}) => {
  const refused = () => client.get('/api/market/product?domain=99');
  expect(await delaysDuring(souk, refused, LIMIT + 5)).toBe(5);
  expect(await delaysDuring(souk, () => client.get('/api/quota'), 20)).toBe(0);
  const other = await souk.client();
  expect(await delaysDuring(souk, () => other.get('/api/market/product?domain=99'), LIMIT)).toBe(0);
});

test.for<[string, (souk: Souk) => Promise<Reply>]>([
  ['unknown keys', (souk) => souk.clientOf(newKey()).get('/api/quota')],
  ['addresses that do not exist', (souk) => souk.clientOf('').raw('/nowhere')],
  ['forms without a token', (souk) => souk.clientOf('').raw('/sign-in', { method: 'POST' })],
])('delays refusals to an address beyond the limit: %s', async ([, send], { souk }) => {
  expect(await delaysDuring(souk, () => send(souk), 2 * LIMIT)).toBeGreaterThanOrEqual(LIMIT);
});
