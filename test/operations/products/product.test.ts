import { expect, test } from 'vitest';
import { hasData } from '../../../src/operations/products/product.ts';

test.each([
  [{}, true],
  [{ productType: 0 }, true],
  [{ productType: 1, title: null }, true],
  [{ productType: 2 }, true],
  [{ productType: 5 }, true],
  [{ productType: null }, true],
  [{ productType: 3 }, false],
  [{ productType: 4, title: null }, false],
  [{ productType: 3, title: 'Known before' }, true],
  [{ productType: 4, title: 'Known before' }, true],
])('whether a product with %j has data: %s', (fields, expected) => {
  expect(hasData({ asin: 'B000000001', ...fields })).toBe(expected);
});
