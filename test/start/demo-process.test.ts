import { expect, test } from 'vitest';
import { startDemoProcess } from '../../src/start/demo-process.ts';

test('a worker starts a demo provider for test calls, which answers until it is stopped', async () => {
  const demo = await startDemoProcess();
  const ask = () => fetch(`${demo.url}/product?key=test-test-test-test&domain=1&asin=B08N5WRWNX`);
  const answer = (await (await ask()).json()) as { products: { asin: string }[]; refillRate: number };
  expect(answer).toMatchObject({ products: [{ asin: 'B08N5WRWNX' }], refillRate: 1_000_000 });
  await demo.stop();
  await demo.ended;
  await expect(ask()).rejects.toThrow('fetch failed');
});

test('a demo provider that is killed has ended', async () => {
  const demo = await startDemoProcess();
  process.kill(demo.pid, 'SIGKILL');
  await demo.ended;
  await expect(fetch(demo.url)).rejects.toThrow('fetch failed');
});
