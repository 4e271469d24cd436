import { expect, test } from 'vitest';
import { graphImage } from '../../../src/operations/market/chart.ts';
import { fetchGraphImage } from '../../../src/upstream/keepa/endpoints.ts';
import type { KeepaCall } from '../../../src/upstream/keepa/transport.ts';
import { canonical } from '../../support/parameters.ts';

/** Returns the request that upstream receives for these parameters. */
async function sent(parameters: object): Promise<KeepaCall> {
  const calls: KeepaCall[] = [];
  const keepa = {
    json: () => Promise.reject(new Error('a picture is no JSON')),
    picture: async (call: KeepaCall) => {
      calls.push(call);
      return Buffer.from('picture');
    },
  };
  const input = canonical(graphImage, { domain: 8, asin: 'B000000001', ...parameters });
  await fetchGraphImage(keepa, input, {
    signal: new AbortController().signal,
    deadlineAt: 0,
    background: false,
  });
  const [call] = calls;
  if (!call) throw new Error('nothing was sent');
  return call;
}

test('requests a picture at its address for one token', async () => {
  expect(await sent({})).toMatchObject({ path: 'graphimage', cost: 1 });
});

test('sends defaults for missing parameters, but no colours', async () => {
  expect((await sent({})).params).toEqual({
    domain: 8,
    asin: 'B000000001',
    range: 90,
    width: 500,
    height: 200,
    yzoom: 1,
    amazon: 1,
    new: 1,
    used: 0,
    salesrank: 0,
    bb: 0,
    fba: 0,
    fbm: 0,
    ld: 0,
    wd: 0,
  });
});

test.each([
  ['retailer', 0, 'amazon', 0],
  ['new', 0, 'new', 0],
  ['used', 1, 'used', 1],
  ['salesrank', 1, 'salesrank', 1],
  ['bb', 1, 'bb', 1],
  ['fba', 1, 'fba', 1],
  ['fbm', 1, 'fbm', 1],
  ['ld', 1, 'ld', 1],
  ['wd', 1, 'wd', 1],
  ['yzoom', 0, 'yzoom', 0],
  ['range', 31, 'range', 31],
  ['width', 640, 'width', 640],
  ['height', 320, 'height', 320],
  ['cbackground', '#102030', 'cBackground', '102030'],
  ['cfont', '102030', 'cFont', '102030'],
  ['cretailer', '102030', 'cAmazon', '102030'],
  ['cnew', '102030', 'cNew', '102030'],
  ['cused', '102030', 'cUsed', '102030'],
  ['csales', '102030', 'cSales', '102030'],
  ['cfba', '102030', 'cFBA', '102030'],
  ['cfbm', '102030', 'cFBM', '102030'],
  ['cbb', '102030', 'cBB', '102030'],
  ['cld', '102030', 'cLD', '102030'],
  ['cwd', '102030', 'cWD', '102030'],
])('sends %s=%s as %s=%s and changes nothing else', async (ours, value, theirs, expected) => {
  const plain = (await sent({})).params;
  expect((await sent({ [ours]: value })).params).toEqual({ ...plain, [theirs]: expected });
});

test('sends no other parameters', async () => {
  const plain = (await sent({})).params;
  expect((await sent({ key: 'customer', title: 0, bbu: 1, cPE: 'ffffff', amazon: 0 })).params).toEqual(plain);
});
