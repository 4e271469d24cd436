import type { AddressInfo } from 'node:net';
import { fastify } from 'fastify';
import { expect } from 'vitest';
import { mountProtocol } from '../../../src/api/mcp/mount.ts';
import { SoukError } from '../../../src/platform/errors.ts';
import { newAsin } from '../../support/answers.ts';
import { connectAgent } from '../../support/mcp-client.ts';
import { conformanceFixtures } from '../../support/mcp-fixtures.ts';
import { gate } from '../../support/scripted-upstream.ts';
import { testWithHeldProducts as test } from '../../support/souk-test.ts';
import { advanceUntil } from '../../support/time.ts';

test.for([
  ['market_get_product', { domain: 1, asins: [newAsin()] }, 'jobId'],
  [
    'batches_create',
    { operation: 'market.product', params: { domain: 1 }, split: { asins: [newAsin(), newAsin()] } },
    'batchId',
  ],
] as const)(
  'a caller that follows %s receives its id when the gateway closes',
  async ([tool, args, id], { souk, account, release }) => {
    await souk.addGateway();
    const agent = await connectAgent(souk.clientOf(account.key, 1), { toolsets: 'all' });
    const [gateway] = souk.gateways.splice(1);
    const updates: unknown[] = [];
    const calling = agent.call(tool, args, { onprogress: (progress) => updates.push(progress) });
    await advanceUntil(souk.clock, () => updates.length === 1, 100);
    const closing = gateway?.close();
    // A batch is looked at every second.
    souk.clock.advance(1_000);
    const { data, isError } = await calling;
    expect(isError).toBe(false);
    expect(data).toMatchObject({ [id]: expect.any(String), state: expect.any(String) });
    release();
    await closing;
  },
);

test('refuses a request with BUSY if the gateway closes during authentication', async () => {
  const { reached, open } = gate();
  const identified = gate();
  const app = fastify();
  const refused: unknown[] = [];
  app.setErrorHandler(async (error, _request, reply) => {
    refused.push(error);
    return reply.code(503).send();
  });
  mountProtocol(app, {
    served: await conformanceFixtures(),
    allowedHosts: ['127.0.0.1'],
    async identify() {
      identified.open();
      await reached;
      return null;
    },
    onError: () => {},
  });
  app.addHook('preClose', async () => open());
  await app.listen({ host: '127.0.0.1', port: 0 });
  const asking = fetch(`http://127.0.0.1:${(app.server.address() as AddressInfo).port}/mcp`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream' },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'ping' }),
  });
  await identified.reached;
  const closing = app.close();
  expect((await asking).status).toBe(503);
  expect(refused).toEqual([expect.any(SoukError)]);
  expect(refused).toMatchObject([{ kind: 'BUSY' }]);
  await closing;
});
