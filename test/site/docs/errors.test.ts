import { expect, test } from 'vitest';
import { openApiDocument } from '../../../src/api/openapi/document.ts';
import { ERRORS } from '../../../src/platform/errors.ts';
import { GUIDES, type Guide, guideText, renderGuide } from '../../../src/site/docs/guides.ts';

const guide = GUIDES.find(({ slug }) => slug === 'errors') as Guide;

test('list of errors, OpenAPI document and guide have the same codes', () => {
  const listed = Object.values(ERRORS).map(({ code }) => code);
  const documented = openApiDocument()['x-errors'].map(({ code }) => code);
  const { headings } = renderGuide(guide);
  const described = headings.filter(({ level }) => level === 3).map(({ text }) => text);
  expect([...described].sort()).toEqual([...listed].sort());
  expect([...documented].sort()).toEqual([...listed].sort());
});

test('every error has its cause, its cure, and whether it is charged', () => {
  const sections = guideText(guide).split('\n### ').slice(1);
  expect(sections).toHaveLength(Object.keys(ERRORS).length);
  for (const { code, text, units } of Object.values(ERRORS)) {
    const section = sections.find((one) => one.startsWith(`\`${code}\``)) ?? '';
    expect(section).toContain(text);
    expect(section).toMatch(/^- \*\*Cause:\*\* \S.*\.$/m);
    expect(section).toMatch(/^- \*\*Cure:\*\* \S.*\.$/m);
    expect(section).toMatch(units === 'none' ? /before any units are taken/ : /are given back/);
  }
});

test('an error is reached by its code as an anchor', () => {
  const { html } = renderGuide(guide);
  for (const { code } of Object.values(ERRORS)) expect(html).toContain(`<h3 id="${code.toLowerCase()}">`);
});
