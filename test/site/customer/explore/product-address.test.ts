import { expect, test } from 'vitest';
import { comparePage } from '../../../../src/site/customer/explore/compare-page.tsx';
import { withAsins } from '../../../../src/site/customer/explore/product-address.ts';
import { productPage } from '../../../../src/site/customer/explore/product-page.tsx';

test('a pasted address of a product is its ASIN, and sets the field of the site', () => {
  const asin = 'https://www.amazon.co.uk/Some-Thing-Blue/dp/b0c3cdef01/ref=sr_1_1?x=1';
  expect(productPage.read?.({ domain: '1', asin })).toEqual({ domain: '2', asin: 'B0C3CDEF01' });
  expect(productPage.read?.({ domain: '3', asin: ' b0c3cdef01 ' })).toEqual({
    domain: '3',
    asin: 'B0C3CDEF01',
  });
});

test('a text that names no product stays as it is', () => {
  const asin = 'https://www.amazon.com/s?k=lamp';
  expect(productPage.read?.({ asin })).toEqual({ asin });
  expect(withAsins({ domain: '1' }, 'asin')).toEqual({ domain: '1' });
});

test('a list of addresses and ASINs keeps its order', () => {
  const asins = 'B0C3CDEF02, https://www.amazon.de/dp/B0C3CDEF01\nB0C3CDEF03';
  const values = comparePage.read?.({ domain: '1', asins }) ?? {};
  expect(values).toEqual({ domain: '3', asins: 'B0C3CDEF02 B0C3CDEF01 B0C3CDEF03' });
  expect(comparePage.views(values)?.[0]?.parameters).toEqual({
    domain: 3,
    asins: ['B0C3CDEF02', 'B0C3CDEF01', 'B0C3CDEF03'],
    days: 365,
  });
});
