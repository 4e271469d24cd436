import type { IncomingMessage } from 'node:http';
import { Registry } from 'prom-client';
import { expect, onTestFinished } from 'vitest';
import { createMetricsCheck } from '../../../src/accounts/operator-token.ts';
import { openMetricsServer } from '../../../workers/metrics-server.ts';
import { TestClock } from '../../support/clock.ts';
import { PAGES } from '../../support/customer.ts';
import { test } from '../../support/souk-test.ts';

test.override('soukOptions', { workers: 0 });

const PROXIED = [
  { 'x-forwarded-for': '192.0.2.1' },
  { forwarded: 'for=192.0.2.1' },
  { via: '1.1 proxy' },
] as Record<string, string>[];

test('without METRICS_TOKEN a gateway serves its metrics to programs on the same machine only', async ({
  client,
}) => {
  expect((await client.raw('/metrics')).status).toBe(200);
  for (const headers of PROXIED) {
    const reply = await client.raw('/metrics', { headers });
    expect([reply.status, reply.json.msg]).toEqual([401, expect.stringContaining('METRICS_TOKEN')]);
  }
});

test.for([
  ['TRUST_PROXY', { gateway: { trustProxy: 'loopback' } }],
  ['PUBLIC_URL', { pages: { ...PAGES, publicUrl: 'https://souk.example' } }],
] as const)(
  'with %s and without METRICS_TOKEN a gateway refuses its metrics to all',
  async ([_name, options], { openAnother }) => {
    const souk = await openAnother({ workers: 0, ...options });
    const reply = await souk.clientOf('').raw('/metrics');
    expect([reply.status, reply.json.msg]).toEqual([401, expect.stringContaining('set METRICS_TOKEN')]);
  },
);

test('with PUBLIC_URL a gateway serves its metrics with METRICS_TOKEN', async ({ openAnother }) => {
  const metricsToken = 'only-for-prometheus';
  const pages = { ...PAGES, publicUrl: 'https://souk.example' };
  const souk = await openAnother({ workers: 0, pages, operator: { metricsToken } });
  const headers = { authorization: `Bearer ${metricsToken}` };
  expect((await souk.clientOf('').raw('/metrics', { headers })).status).toBe(200);
});

test('without METRICS_TOKEN a worker serves its metrics to programs on the same machine only', async () => {
  const server = await openMetricsServer(new Registry(), {
    host: '127.0.0.1',
    port: 0,
    token: undefined,
    clock: new TestClock(),
  });
  onTestFinished(() => server.close());
  const ask = (headers: Record<string, string>) =>
    fetch(`http://127.0.0.1:${server.port}/metrics`, { headers }).then(({ status }) => status);
  expect(await ask({})).toBe(200);
  for (const headers of PROXIED) expect(await ask(headers)).toBe(401);
});

test.for([
  ['127.0.0.1', true],
  ['127.8.9.10', true],
  ['::1', true],
  ['::ffff:127.0.0.1', true],
  ['10.0.0.1', false],
  ['::ffff:10.0.0.1', false],
  ['2001:db8::1', false],
  [undefined, false],
] as const)(
  'whether a connection from %s may read the metrics without a token: %s',
  ([remoteAddress, may]) => {
    const request = { socket: { remoteAddress }, headers: {} } as IncomingMessage;
    expect(createMetricsCheck(undefined)(request)).toBe(may);
  },
);
