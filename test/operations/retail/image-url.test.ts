import { describe, expect, test } from 'vitest';
import { imageUrl } from '../../../src/operations/retail/image-url.ts';
import { canonical, faultsOf } from '../../support/parameters.ts';
import { words } from '../../support/words.ts';

const read = (sent: object) => canonical(imageUrl, { domain: 1, ...sent });
const faults = (sent: object) => faultsOf(imageUrl, { domain: 1, ...sent });
const names = (count: number) => Array.from({ length: count }, (_, i) => `picture${i}.jpg`);

describe('parameters of image links', () => {
  test('accept image, images or both, and merge them in the given order without duplicates', () => {
    expect(read({ image: 'b.jpg' }).images).toEqual(['b.jpg']);
    expect(read({ images: ['c.jpg,a.png', 'b.jpg'], image: 'b.jpg' }).images).toEqual([
      'b.jpg',
      'c.jpg',
      'a.png',
    ]);
  });

  test('distinguish upper-case from lower-case names', () => {
    expect(read({ images: 'a.jpg,A.jpg,A.JPG' }).images).toEqual(['a.jpg', 'A.jpg', 'A.JPG']);
  });

  test.each(
    words(`
    41xKl+Qw-L.jpg 61_a~b.jpeg x.png x.gif x.webp Z.JPG pic._AC_SL1500_.jpg 4%2B1.jpg
  `),
  )('accept %s', (image) => {
    expect(read({ image }).images).toEqual([image]);
  });

  test.each([
    ['/x.jpg', 'must be a file name without a path'],
    ['images/I/x.jpg', 'must be a file name without a path'],
    ['..\\x.jpg', 'must be a file name without a path'],
    ['..x.jpg', 'must be a file name without a path'],
    ['https://images.test/x.jpg', 'must be a file name without a path'],
    ['x', 'must end in an image extension such as .jpg'],
    ['x.', 'must end in an image extension such as .jpg'],
    ['x.jpg.exe', 'must end in an image extension such as .jpg'],
    ['x.html', 'must end in an image extension such as .jpg'],
    ['x.jpg?a=1', 'must end in an image extension such as .jpg'],
    ['jpg', 'must end in an image extension such as .jpg'],
    ['a b.jpg', 'must contain only letters, digits and + . _ ~ -'],
    ['a%2Fb.jpg', 'must contain only letters, digits and + . _ ~ -'],
    ['%2e%2e.jpg', 'must contain only letters, digits and + . _ ~ -'],
    ['x?y.jpg', 'must contain only letters, digits and + . _ ~ -'],
    ['x#y.jpg', 'must contain only letters, digits and + . _ ~ -'],
    ['<script>.jpg', 'must contain only letters, digits and + . _ ~ -'],
    ['a\u0000.jpg', 'must contain only letters, digits and + . _ ~ -'],
    [`${'x'.repeat(300)}.jpg`, 'must contain only letters, digits and + . _ ~ -'],
  ])('refuse %j, and state what a name must be', (image, problem) => {
    expect(faults({ images: ['ok.jpg', image] }).images).toMatch(/^item 2 must .*, got "/);
    expect(faults({ image }).images).toContain(problem);
  });

  test('accept at most 1000 names', () => {
    expect(read({ images: names(1000).join() }).images).toHaveLength(1000);
    expect(faults({ images: names(1001) })).toEqual({ images: 'must be 1 to 1000 file names, got 1001' });
    expect(faults({ images: names(1000), image: 'one-more.jpg' }).images).toMatch(/got 1001$/);
  });

  test('require at least one name, and the site', () => {
    expect(faults({}).images).toMatch(/^is required: it must be 1 to 1000 file names/);
    expect(faults({ images: '' }).images).toMatch(/^is empty/);
    expect(Object.keys(faultsOf(imageUrl, { image: 'x' })).sort()).toEqual(['domain', 'images']);
  });
});
