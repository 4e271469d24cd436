import { once } from 'node:events';
import { connect } from 'node:net';
import { expect } from 'vitest';
import { holdProducts, newAsin } from '../../support/answers.ts';
import { test } from '../../support/souk-test.ts';

test('closes immediately although an open connection has sent no request', async ({ ownSouk: souk }) => {
  const { baseUrl } = await souk.client();
  const { hostname, port } = new URL(baseUrl);
  const socket = connect(Number(port), hostname);
  await once(socket, 'connect');
  const [gateway] = souk.gateways;
  const closed = once(socket, 'close');
  await gateway?.close();
  await closed;
  souk.gateways.splice(0);
});

test('answers a request in progress before it closes, although another connection is unused', async ({
  ownSouk: souk,
}) => {
  const client = await souk.client();
  const { hostname, port } = new URL(client.baseUrl);
  const socket = connect(Number(port), hostname);
  await once(socket, 'connect');
  const release = holdProducts(souk.upstream);
  const waiting = client.get(`/api/market/product?domain=1&asins=${newAsin()}`);
  await souk.upstream.received(1, 'product');
  const [gateway] = souk.gateways;
  await gateway?.close();
  expect((await waiting).status).toBe(202);
  release();
  souk.gateways.splice(0);
});
