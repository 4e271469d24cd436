import type { FastifyRequest } from 'fastify';
import { expect, test } from 'vitest';
import { createParsedRequests } from '../../../src/api/operations/call-options.ts';

/** Returns a request, and how often it was parsed. */
function requester() {
  const requests = createParsedRequests();
  let parsed = 0;
  const ask = (url: string, { method = 'GET', day = '' } = {}) => {
    const query = Object.fromEntries(new URL(url, 'http://souk').searchParams);
    return requests.input({ method, url, query } as unknown as FastifyRequest, day, () => {
      parsed += 1;
      return { asins: [query.asins], days: { of: day } };
    });
  };
  return { ask, parsed: () => parsed };
}

test('parses an address that is requested again and again only twice', () => {
  const { ask, parsed } = requester();
  const inputs = Array.from({ length: 5 }, () => ask('/api/market/product?asins=A'));
  expect(parsed()).toBe(2);
  for (const input of inputs) expect(input).toEqual({ asins: ['A'], days: { of: '' } });
});

test('caches parsed requests by address, and by day if the input depends on the day', () => {
  const { ask } = requester();
  for (let repetition = 0; repetition < 3; repetition += 1) {
    expect(ask('/api/market/product?asins=A')).toMatchObject({ asins: ['A'] });
    expect(ask('/api/market/product?asins=B')).toMatchObject({ asins: ['B'] });
    expect(ask('/api/aba/search?asins=A', { day: '2026-11-22' })).toMatchObject({
      days: { of: '2026-11-22' },
    });
    expect(ask('/api/aba/search?asins=A', { day: '2026-11-23' })).toMatchObject({
      days: { of: '2026-11-23' },
    });
  }
});

test('an input that requests share cannot be changed in any of its parts', () => {
  const { ask } = requester();
  const [, shared] = [0, 1].map(() => ask('/api/market/product?asins=A')) as { asins: string[] }[];
  expect(() => shared?.asins.push('B')).toThrow(TypeError);
  expect(ask('/api/market/product?asins=A')).toBe(shared);
});

test.each([
  ['a request with the key in its address', '/api/market/product?asins=A&key=km_1', {}],
  ['a request with an encoded name of the key', '/api/market/product?asins=A&%6bey=km_1', {}],
  ['a request with a webhook', '/api/market/product?asins=A&webhook=https://example.com/secret', {}],
  ['a request with a body', '/api/market/product?asins=A', { method: 'POST' }],
  ['a long address', `/api/market/product?asins=${'A'.repeat(4_096)}`, {}],
])('parses %s each time', (_what, url, options) => {
  const { ask, parsed } = requester();
  for (let repetition = 0; repetition < 3; repetition += 1) ask(url, options);
  expect(parsed()).toBe(3);
});

test('addresses that come once displace none that come often', () => {
  const { ask, parsed } = requester();
  for (let repetition = 0; repetition < 2; repetition += 1) ask('/api/market/product?asins=A');
  for (let other = 0; other < 50_000; other += 1) ask(`/api/market/product?asins=B${other}`);
  const before = parsed();
  ask('/api/market/product?asins=A');
  expect(parsed()).toBe(before);
});
