import { expect, test } from 'vitest';
import { graphImage } from '../../../src/operations/market/chart.ts';
import { fetchGraphImage } from '../../../src/upstream/keepa/endpoints.ts';
import type { KeepaCall } from '../../../src/upstream/keepa/transport.ts';
import { canonical } from '../../support/parameters.ts';

test('requests a picture at its address for one token', async () => {
  const calls: KeepaCall[] = [];
  const keepa = {
    json: () => Promise.reject(new Error('a picture is no JSON')),
    picture: async (call: KeepaCall) => {
      calls.push(call);
      return Buffer.from('picture');
    },
    learn: async () => {},
  };
  const { signal } = new AbortController();
  const input = canonical(graphImage, { domain: 8, asin: 'B000000001' });
  await fetchGraphImage(keepa, input, { signal, deadlineAt: 0, background: false });
  expect(calls).toMatchObject([{ path: 'graphimage', cost: 1 }]);
});
