import { expect, test } from 'vitest';
import { quota } from '../../../src/operations/account/quota.ts';
import { canonical } from '../../support/parameters.ts';

test.each([{}, { domain: 7, page: 'x' }, undefined, null])(
  'quota has no parameters and ignores all it is sent: %j',
  (sent) => {
    expect(canonical(quota, sent)).toEqual({});
  },
);

test('quota and token are one operation', () => {
  expect(quota.routes.map(({ method, path }) => `${method} ${path}`)).toEqual([
    'GET /api/quota',
    'GET /api/token',
  ]);
});
