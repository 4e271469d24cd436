import { expect, test } from 'vitest';
import { openApiDocument } from '../../../src/api/openapi/document.ts';
import { ERRORS } from '../../../src/platform/errors.ts';
import { GUIDES, type Guide, guideText, renderGuide } from '../../../src/site/docs/guides.ts';

const guide = GUIDES.find(({ slug }) => slug === 'errors') as Guide;

test('error list, OpenAPI document and guide have the same codes', () => {
  const listed = Object.values(ERRORS).map(({ code }) => code);
  const documented = openApiDocument()['x-errors'].map(({ code }) => code);
  const { headings } = renderGuide(guide);
  const described = headings.filter(({ level }) => level === 3).map(({ text }) => text);
  expect([...described].sort()).toEqual([...listed].sort());
  expect([...documented].sort()).toEqual([...listed].sort());
});

test('the guide has a cause, a solution and the charge for every error', () => {
  const sections = guideText(guide).split('\n### ').slice(1);
  expect(sections).toHaveLength(Object.keys(ERRORS).length);
  for (const { code, text, units } of Object.values(ERRORS)) {
    const section = sections.find((one) => one.startsWith(`\`${code}\``)) ?? '';
    expect(section).toContain(text);
    expect(section).toMatch(/^- \*\*Cause:\*\* \S.*\.$/m);
    expect(section).toMatch(/^- \*\*Solution:\*\* \S.*\.$/m);
    expect(section).toMatch(units === 'none' ? /before units are reserved/ : /are released/);
  }
});

test('the guide has an anchor for every code', () => {
  const { html } = renderGuide(guide);
  for (const { code } of Object.values(ERRORS)) expect(html).toContain(`<h3 id="${code.toLowerCase()}">`);
});
