import { expect, test } from 'vitest';
import { productNamedBy } from '../../../src/operations/products/product-address.ts';

test.each([
  ['B0C3CDEF01', 'B0C3CDEF01', null],
  [' b0c3cdef01\n', 'B0C3CDEF01', null],
  ['059035342X', '059035342X', null],
  ['https://www.amazon.com/dp/B0C3CDEF01', 'B0C3CDEF01', 1],
  ['https://www.amazon.com/Some-Product-Name/dp/B0C3CDEF01/ref=sr_1_3?crid=1&keywords=dp', 'B0C3CDEF01', 1],
  ['amazon.co.uk/gp/product/B0C3CDEF01?psc=1', 'B0C3CDEF01', 2],
  ['http://m.amazon.com.mx/gp/aw/d/b0c3cdef01', 'B0C3CDEF01', 11],
  ['https://www.amazon.de/product-reviews/B0C3CDEF01/', 'B0C3CDEF01', 3],
])('%j names a product', (text, asin, domain) => {
  expect(productNamedBy(text)).toEqual({ asin, domain });
});

test.each([
  '',
  'headphones',
  'wheelchair',
  'B0C3CDEF0',
  'https://www.amazon.com/dp/',
  'https://www.amazon.com/dp/headphones',
  'https://amazon.com.example.org/dp/B0C3CDEF01',
  'https://example.org/dp/B0C3CDEF01',
  'https://[/dp/B0C3CDEF01',
  `https://www.amazon.com/${'dp/'.repeat(100_000)}`,
])('%.60j names no product', (text) => {
  expect(productNamedBy(text)).toBeNull();
});
