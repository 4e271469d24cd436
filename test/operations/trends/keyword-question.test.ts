import { describe, expect, test } from 'vitest';
import { inputOn } from '../../../src/operations/define.ts';
import { interestByRegion, resolutionToAskFor } from '../../../src/operations/trends/interest-by-region.ts';
import { interestOverTime } from '../../../src/operations/trends/interest-over-time.ts';
import type { KeywordInput } from '../../../src/operations/trends/keyword-question.ts';
import { relatedQueries, relatedTopics } from '../../../src/operations/trends/related.ts';
import { canonical, faultsOf, withValue } from '../../support/parameters.ts';
import { words } from '../../support/words.ts';

const NOW = Date.parse('2026-03-04T22:30:00Z');
const ALL = [interestOverTime, interestByRegion, relatedQueries, relatedTopics] as const;

const sent = (parameters: object) => ({ keyword: 'kettle', ...parameters });
const input = (parameters: object) => canonical(interestOverTime, sent(parameters));
const faults = (parameters: object) => faultsOf(interestOverTime, sent(parameters));

/** Returns the window of a request on 4 March 2026, or its errors. */
function windowOf(parameters: object): unknown {
  try {
    const { startDate, endDate } = inputOn(interestOverTime, input(parameters), NOW);
    return [startDate, endDate];
  } catch (error) {
    const { metadata } = error as { metadata: { errors: { parameter: string; problem: string }[] } };
    return Object.fromEntries(metadata.errors.map(({ parameter, problem }) => [parameter, problem]));
  }
}

test.each(ALL)('$name has the defaults of the specification', (operation) => {
  expect(
    inputOn<KeywordInput>(operation, canonical<KeywordInput>(operation, { keyword: 'kettle' }), NOW),
  ).toEqual({
    keyword: ['kettle'],
    startDate: '2025-03-04',
    endDate: '2026-03-04',
    geo: '',
    hl: 'en-US',
    property: 'web',
    category: 0,
    timezone: 0,
    ...(operation === interestByRegion ? { resolution: 'COUNTRY' } : {}),
  });
});

describe('keywords', () => {
  test.each([
    ['kettle', ['kettle']],
    [' kettle , tea pot ,', ['kettle', 'tea pot']],
    [
      ['tea pot', 'kettle'],
      ['tea pot', 'kettle'],
    ],
    [
      ['kettle,tea pot', 'kettle'],
      ['kettle', 'tea pot'],
    ],
    ['a,b,c,d,e,a', ['a', 'b', 'c', 'd', 'e']],
    ['やかん,Wasserkocher für Tee', ['やかん', 'Wasserkocher für Tee']],
    ['/m/0663v', ['/m/0663v']],
    ['k'.repeat(100), ['k'.repeat(100)]],
    // Characters are what people count: this one is two units of JavaScript.
    ['🫖'.repeat(100), ['🫖'.repeat(100)]],
    ['-kettle', ['-kettle']],
    ['"tea pot"', ['"tea pot"']],
    ['קומקום', ['קומקום']],
    ['__proto__', ['__proto__']],
    ['👩‍🍳', ['👩‍🍳']],
  ])('reads %j as %j', (keyword, keywords) => {
    expect(canonical(interestOverTime, { keyword }).keyword).toEqual(keywords);
  });

  test.each([
    [undefined, /^is required: it must be 1 to 5 keywords/],
    ['', /^is empty: it must be 1 to 5 keywords/],
    [[], /^is required/],
    ['a,b,c,d,e,f', /^must be 1 to 5 keywords, got 6/],
    ['k'.repeat(101), /at most 100 characters/],
    ['🫖'.repeat(101), /at most 100 characters/],
    ['\u200b', /must contain a visible character/],
    ['kettle,\u202e\u200f', /^item 2 must contain a visible character, got /],
    ['\ud800', /no control characters/],
    ['ket\u0000tle', /no control characters/],
    [7, /must be a text/],
    [{ a: 1 }, /must be a text/],
  ])('refuses %j', (keyword, problem) => {
    const { keyword: said, ...others } = faultsOf(interestOverTime, { keyword });
    expect(said).toMatch(problem);
    expect(others).toEqual({});
  });
});

describe('geo', () => {
  test.each([
    '',
    ...words('US CN HK SG JP GB DE FR CA AU IN BR MX KR TW XK US-CA US-CA-807 JP-13 GB-ENG FR-J'),
  ])('accepts %j', (geo) => {
    expect(input({ geo }).geo).toBe(geo);
    expect(input({ geo: ` ${geo.toLowerCase()} ` }).geo).toBe(geo);
  });

  test.each([
    ...words('UK XX EU ZZ USA U US- US-CALI US-CA-8a7 US_CA world'),
    5,
    null,
    ['US'],
    // These become FI and IS in capitals.
    'ﬁ',
    'ıs',
    'ＵＳ',
  ])('refuses %j', (geo) => {
    expect(Object.keys(faults({ geo }))).toEqual(['geo']);
    expect(faults({ geo }).geo).toContain('a country such as US, or a region of a country such as US-CA');
  });
});

describe('hl', () => {
  test.each(
    words(`
    en-US zh-CN zh-TW ja ko de fr es pt it nl pt-BR zh-Hant-TW fil es-419 sr-Latn
  `),
  )('accepts %s', (hl) => {
    expect(input({ hl }).hl).toBe(hl);
    expect(input({ hl: hl.toLowerCase() }).hl).toBe(hl);
  });

  test.each([
    '',
    ...words('xx english en_US en- e en-US-x-y'),
    3,
    null,
    // Tags for no language, or of no region.
    ...['und', 'und-US', 'mul', 'mis', 'zxx', 'en-XX', 'en-ZZ', 'en-999', 'qaa'],
  ])('refuses %j', (hl) => {
    expect(faults({ hl })).toEqual({ hl: withValue('must be a language such as en-US, zh-CN or ja') });
  });
});

test.each(['web', 'news', 'images', 'youtube', 'froogle'])('accepts the property %s', (property) => {
  expect(input({ property }).property).toBe(property);
});

test.each([
  [{ property: 'shopping' }, { property: withValue('must be one of web, news, images, youtube, froogle') }],
  [{ category: -1 }, { category: withValue('must be an integer from 0 to 2147483647') }],
  [{ category: 'b' }, { category: withValue('must be an integer from 0 to 2147483647') }],
  [{ timezone: 1440 }, { timezone: withValue('must be an integer from -1439 to 1439') }],
  [{ timezone: 60.5 }, { timezone: withValue('must be an integer from -1439 to 1439') }],
  [{ startDate: '2026-02-30' }, { startDate: withValue('must be a date such as 2026-01-31') }],
  [{ endDate: '04.03.2026' }, { endDate: withValue('must be a date such as 2026-01-31') }],
  [{ endDate: 20260304 }, { endDate: withValue('must be a date such as 2026-01-31') }],
])('refuses %j', (parameters, expected) => {
  expect(faults(parameters)).toEqual(expected);
});

test('accepts categories and time zones as numbers or digits', () => {
  expect(input({ category: '999999', timezone: '-480' })).toMatchObject({
    category: 999_999,
    timezone: -480,
  });
});

describe('the window', () => {
  test.each([
    [{}, ['2025-03-04', '2026-03-04']],
    [{ startDate: '2004-01-01' }, ['2004-01-01', '2026-03-04']],
    [{ startDate: '2026-03-04' }, ['2026-03-04', '2026-03-04']],
    [{ endDate: '2026-01-01' }, ['2025-03-04', '2026-01-01']],
    // Twelve months ago would be after the end.
    [{ endDate: '2024-02-29' }, ['2023-02-28', '2024-02-29']],
    [{ endDate: '2025-03-04' }, ['2024-03-04', '2025-03-04']],
    [{ endDate: '2004-03-01' }, ['2004-01-01', '2004-03-01']],
    // East of Greenwich tomorrow may have begun.
    [{ endDate: '2026-03-05' }, ['2025-03-04', '2026-03-05']],
  ])('for %j is %j', (parameters, expected) => {
    expect(windowOf(parameters)).toEqual(expected);
  });

  test.each([
    [{ startDate: '2003-12-31' }, { startDate: withValue('must be 2004-01-01 or later') }],
    [{ endDate: '0500-06-01' }, { endDate: withValue('must be 2004-01-01 or later') }],
    [{ endDate: '2003-12-31' }, { endDate: withValue('must be 2004-01-01 or later') }],
    [
      { startDate: '2026-02-01', endDate: '2026-01-31' },
      { endDate: withValue('must not be before startDate (2026-02-01)') },
    ],
    [
      { endDate: '2026-03-06' },
      { endDate: withValue('must not be in the future (today is 2026-03-04 in UTC)') },
    ],
    [
      { startDate: '2026-03-05', endDate: '2026-03-05' },
      { startDate: withValue('must not be in the future (today is 2026-03-04 in UTC)') },
    ],
  ])('is refused for %j', (parameters, expected) => {
    expect(windowOf(parameters)).toEqual(expected);
  });

  test('with both dates does not change after midnight', () => {
    const complete = inputOn(interestOverTime, input({}), NOW);
    expect(inputOn(interestOverTime, complete, NOW + 86_400_000)).toEqual(complete);
  });
});

describe('the source', () => {
  const identities = (operation: (typeof ALL)[number], parameters: object) =>
    operation
      .source(
        inputOn<never>(operation as never, canonical(operation as never, sent(parameters)) as never, NOW),
      )
      .map(({ identity }) => identity);

  test('is the same for the same window in any form', () => {
    const dates = { startDate: '2025-03-04', endDate: '2026-03-04' };
    for (const operation of ALL) expect(identities(operation, dates)).toEqual(identities(operation, {}));
  });

  test.each(['geo=DE', 'hl=ja', 'property=news', 'category=5', 'startDate=2026-01-01', 'keyword=pot'])(
    'differs with %s',
    (parameter) => {
      const changed = Object.fromEntries(new URLSearchParams(parameter));
      for (const operation of ALL)
        expect(identities(operation, changed)).not.toEqual(identities(operation, {}));
    },
  );

  test('depends on the time zone only if the answer contains times', () => {
    const differs = ALL.filter(
      (operation) => identities(operation, { timezone: 60 }).join() !== identities(operation, {}).join(),
    );
    expect(differs).toEqual([interestOverTime]);
  });

  test('of related searches is separate for each keyword', () => {
    const both = identities(relatedQueries, { keyword: 'kettle,pot' });
    expect(both).toEqual([
      ...identities(relatedQueries, { keyword: 'kettle' }),
      ...identities(relatedQueries, { keyword: 'pot' }),
    ]);
  });
});

describe('the resolution of a map', () => {
  test.each([
    ['', 'COUNTRY', null],
    ['', 'REGION', 'REGION'],
    ['', 'CITY', 'CITY'],
    // The default resolution of the world is an upstream error within a country.
    ['US', 'COUNTRY', null],
    ['US', 'REGION', null],
    ['US', 'CITY', 'CITY'],
    ['US', 'DMA', 'DMA'],
    ['DE', 'CITY', 'CITY'],
    ['US-CA', 'COUNTRY', null],
    ['US-CA', 'DMA', null],
    ['US-CA', 'CITY', 'CITY'],
    ['JP-13', 'COUNTRY', null],
    ['JP-13', 'CITY', null],
    ['US-CA-807', 'CITY', null],
  ] as const)('for %j with %s is %j', (geo, resolution, asked) => {
    expect(faultsOf(interestByRegion, sent({ geo, resolution }))).toEqual({});
    expect(resolutionToAskFor({ geo, resolution })).toBe(asked);
  });

  test.each([
    ['', 'DMA', 'must be one of COUNTRY, REGION, CITY for the whole world'],
    ['DE', 'DMA', 'must be one of COUNTRY, REGION, CITY for DE'],
    ['JP-13', 'REGION', 'must be one of COUNTRY, CITY for JP-13'],
    ['US-CA', 'REGION', 'must be one of COUNTRY, CITY, DMA for US-CA'],
    ['US', 'STREET', 'must be one of COUNTRY, REGION, CITY, DMA'],
  ])('is refused for %j with %s', (geo, resolution, problem) => {
    expect(faultsOf(interestByRegion, sent({ geo, resolution }))).toEqual({ resolution: withValue(problem) });
  });
});
