import { renderToString } from 'preact-render-to-string';
import { describe, expect, test } from 'vitest';
import { mapOf, type Region, RegionsInterest } from '../../../../src/site/customer/explore/regions.tsx';

/** A region with one value for each keyword; null: no data. */
const region = (geoCode: string | null, geoName: string, ...values: (number | null)[]): Region => ({
  geoCode,
  geoName,
  values: values.map((value, i) => ({
    query: ['kettle', 'teapot'][i] ?? '',
    value: value ?? 0,
    hasData: value !== null,
  })),
});
const shown = (keywords: string[], regions: Region[]) =>
  renderToString(
    RegionsInterest({ data: { keywords, regions, valueMode: keywords.length > 1 ? 'percentage' : 'index' } }),
  );

describe('the map of regions', () => {
  test('has the countries, also those that are dots at its scale, and the states', () => {
    const world = mapOf([{ geoCode: 'DE' }]);
    for (const code of ['US', 'DE', 'JP', 'XK', 'SG', 'HK', 'MT']) expect(world?.codes).toContain(code);
    const states = mapOf([{ geoCode: 'US-CA' }]);
    expect(states?.codes.size).toBe(51);
    expect([world?.url, states?.url]).toEqual([
      expect.stringMatching(/map-world\.svg$/),
      expect.stringMatching(/map-us\.svg$/),
    ]);
  });

  test.each([['DE-BY'], ['501'], [null]])('does not exist for the region %s', (geoCode) => {
    expect(mapOf([{ geoCode }])).toBeNull();
    expect(shown(['kettle'], [region(geoCode, 'Somewhere', 100)])).not.toContain('class="map"');
  });

  test('shades a region by its value, and leaves one without data or shape to the table', () => {
    const html = shown(
      ['kettle'],
      [
        region('DE', 'Germany', 100),
        region('FR', 'France', 21),
        region('IT', 'Italy', null),
        region('AQ', 'Ice', 3),
      ],
    );
    expect(html).toMatch(/#DE" class="series-1 level-5"><title>Germany: kettle 100<\/title>/);
    expect(html).toMatch(/#FR" class="series-1 level-2">/);
    expect(html).not.toContain('#IT"');
    expect(html).not.toContain('#AQ"');
    expect(html).toMatch(/<th scope="row">Ice<\/th><td>AQ<\/td><td class="number">3<\/td>/);
    expect(html).toMatch(/<th scope="row">Italy<\/th>/);
  });

  test('has the colour of the keyword with the largest share', () => {
    const html = shown(['kettle', 'teapot'], [region('US-CA', 'California', 30, 70)]);
    expect(html).toMatch(/#US-CA" class="series-2 level-4"><title>California: kettle 30 %, teapot 70 %/);
  });
});

test('regions without any data are an empty part', () => {
  expect(shown(['kettle'], [region('DE', 'Germany', null)])).toContain('Too few people searched');
});
