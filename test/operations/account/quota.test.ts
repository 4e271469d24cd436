import { expect, test } from 'vitest';
import { quota } from '../../../src/operations/account/quota.ts';
import { canonical } from '../../support/parameters.ts';

test.each([{}, { domain: 7, page: 'x' }, undefined, null])('quota ignores all parameters: %j', (sent) => {
  expect(canonical(quota, sent)).toEqual({});
});

test('quota and token are the same operation', () => {
  expect(quota.routes.map(({ method, path }) => `${method} ${path}`)).toEqual([
    'GET /api/quota',
    'GET /api/token',
  ]);
});
