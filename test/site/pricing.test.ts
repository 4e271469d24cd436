import { describe, expect, test as plain } from 'vitest';
import type { PlanOffer } from '../../src/billing/payments/offers.ts';
import { QUEUED } from '../../src/operations/index.ts';
import { GUIDES } from '../../src/site/docs/guides.ts';
import { cheapestPlan, unitsADay } from '../../src/site/visitor/pricing.tsx';
import { PAGES } from '../support/customer.ts';
import { test } from '../support/souk-test.ts';

function plan(
  code: string,
  priceCents: number,
  dailyLimit: number | null,
  monthlyLimit: number | null,
): PlanOffer {
  return {
    kind: 'plan',
    id: 1,
    code,
    name: code,
    minuteLimit: null,
    dailyLimit,
    monthlyLimit,
    priceCents,
    renews: false,
  };
}

describe('the calculator', () => {
  const plans = [
    plan('free', 0, 100, null),
    plan('small', 2_900, 1_000, 30_000),
    plan('large', 9_900, null, null),
  ];

  plain('adds the units of all habits', () => {
    expect(unitsADay({ products: 100, keywords: 10, lists: 1, searches: 2 })).toBe(160);
  });

  plain.each([
    [50, 'small'],
    [1_000, 'small'],
    [1_001, 'large'],
  ])('names the cheapest paid plan for %s units a day', (units, code) => {
    expect(cheapestPlan(plans, units)?.code).toBe(code);
  });

  plain('names no plan if none is enough', () => {
    expect(cheapestPlan(plans.slice(0, 2), 5_000)).toBeNull();
  });
});

describe('the page of prices', () => {
  test('has every operation with its price, and the units of the given habits', async ({ client }) => {
    const { status, text } = await client.raw('/pricing?products=1&keywords=0&lists=x&searches=0');
    expect(status).toBe(200);
    for (const { summary } of QUEUED) expect(text).toContain(escaped(summary));
    expect(text).toContain('11 units a day');
  });
});

test.override('soukOptions', {
  pages: {
    ...PAGES,
    offeredBy: { name: 'Ann & Sons', links: [{ name: 'Terms', address: 'https://example.com/terms' }] },
  },
});

test('every page names who offers the service', async ({ client }) => {
  for (const path of ['/', '/pricing', '/docs', '/status']) {
    const { text } = await client.raw(path);
    expect(text).toContain('offered by Ann &amp; Sons');
    expect(text).toContain('<a href="https://example.com/terms">Terms</a>');
  }
});

test('the guides are there as Markdown, and their list for language models', async ({ client }) => {
  const { text: list } = await client.raw('/llms.txt');
  for (const { slug } of GUIDES) {
    expect(list).toContain(`/docs/${slug}.md`);
    const { status, headers, text } = await client.raw(`/docs/${slug}.md`);
    expect([status, headers['content-type']]).toEqual([200, 'text/markdown; charset=utf-8']);
    expect(text).toMatch(/^# /);
  }
});

test('a search of the documentation escapes what it shows', async ({ client }) => {
  const { status, text } = await client.raw('/docs/search?q=%3Cscript%3Ealert(1)');
  expect(status).toBe(200);
  expect(text).not.toContain('<script>alert');
});

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;');
}
