import { expect, test } from 'vitest';
import { comparePage } from '../../../../src/site/customer/explore/compare-page.tsx';
import {
  readProduct,
  readProducts,
  withAsins,
} from '../../../../src/site/customer/explore/product-address.ts';
import { rows } from '../../../support/words.ts';

test.for(
  rows(`
    https://www.amazon.com/dp/B0C3CDEF01                                    | B0C3CDEF01 | 1
    https://www.amazon.co.uk/Some-Thing-Blue/dp/b0c3cdef01/ref=sr_1_1?x=1   | B0C3CDEF01 | 2
    http://amazon.de/gp/product/B0C3CDEF01?th=1                             | B0C3CDEF01 | 3
    smile.amazon.co.jp/gp/aw/d/B0C3CDEF01#reviews                           | B0C3CDEF01 | 5
    www.amazon.com.br/product-reviews/B0C3CDEF01/                           | B0C3CDEF01 | 12
    https://www.amazon.nl/dp/B0C3CDEF01                                     | B0C3CDEF01 | null
    B0C3CDEF01                                                              | B0C3CDEF01 | null
    b0c3cdef01                                                              | b0c3cdef01 | null
    https://www.amazon.com/s?k=lamp                                         | https://www.amazon.com/s?k=lamp | null
    https://amazon.com.example.org/dp/B0C3CDEF01                            | https://amazon.com.example.org/dp/B0C3CDEF01 | null
    https://notamazon.com/dp/B0C3CDEF01                                     | https://notamazon.com/dp/B0C3CDEF01 | null
  `),
)('%s is read as %s of the site %s', ([text = '', asin, domain]) => {
  expect(readProduct(` ${text} `)).toEqual({ asin, domain: domain === 'null' ? null : Number(domain) });
});

test('a list of addresses and ASINs keeps its order, and the first site sets the field', () => {
  const asins = 'B0C3CDEF02, https://www.amazon.de/dp/B0C3CDEF01\nB0C3CDEF03';
  expect(readProducts(asins).map(({ asin }) => asin)).toEqual(['B0C3CDEF02', 'B0C3CDEF01', 'B0C3CDEF03']);
  const values = withAsins({ domain: '1', asins }, 'asins');
  expect(values).toEqual({ domain: '3', asins: 'B0C3CDEF02 B0C3CDEF01 B0C3CDEF03' });
  expect(comparePage.views(values)?.[0]?.parameters).toMatchObject({ domain: 3, days: 365 });
  expect(withAsins({ domain: '1' }, 'asins')).toEqual({ domain: '1' });
});
