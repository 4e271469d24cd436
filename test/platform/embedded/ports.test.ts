import { createServer, type Server } from 'node:net';
import { afterEach, expect, test } from 'vitest';
import { onPort } from '../../../src/platform/embedded/server-process.ts';

const others: Server[] = [];
afterEach(() => {
  for (const other of others.splice(0)) other.close();
});

function take(port: number): Promise<void> {
  const other = createServer();
  others.push(other);
  return new Promise((resolve) => other.listen(port, '127.0.0.1', resolve));
}

test('a server whose port another program takes before it listens is launched on the next one', async () => {
  const tried: number[] = [];
  const port = await onPort(undefined, async (chosen) => {
    tried.push(chosen);
    if (tried.length > 1) return chosen;
    await take(chosen);
    throw new Error('Address already in use');
  });
  expect(tried).toHaveLength(2);
  expect(port).not.toBe(tried[0]);
});

test('a server that fails on a free port, or at the address of an earlier start, is launched once', async () => {
  const tried: number[] = [];
  const launch = async (port: number) => {
    tried.push(port);
    throw new Error('damaged data');
  };
  await expect(onPort(undefined, launch)).rejects.toThrow('damaged data');
  await take(0);
  const address = others[0]?.address();
  const taken = typeof address === 'object' && address ? address.port : 0;
  await expect(onPort(`redis://127.0.0.1:${taken}`, launch)).rejects.toThrow('damaged data');
  expect(tried).toEqual([expect.any(Number), taken]);
});
