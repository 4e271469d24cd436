import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';

// Pages are checked in light colors on a wide screen, and in dark colors on a narrow one (LOOKS in support/browser.ts). A fault in
// only one of the other two appearances needs a style that depends on both.

const STYLES = ['src/site/assets', 'src/charts'].flatMap((folder) =>
  readdirSync(folder)
    .filter((name) => name.endsWith('.css'))
    .map((name) => join(folder, name)),
);

interface MediaQuery {
  condition: string;
  /** `SELECTOR PROPERTY: VALUE` */
  declarations: string[];
}

/** Returns the media queries of a style sheet that Biome has formatted. */
function mediaQueries(css: string): MediaQuery[] {
  return [...css.matchAll(/^@media (.+?) \{\n(.*?)^\}/gms)].map(([, condition = '', content = '']) => ({
    condition,
    declarations: [...content.matchAll(/^ {2}(\S.*?) \{\n(.*?)^ {2}\}/gms)].flatMap(
      ([, selector, body = '']) =>
        [...body.matchAll(/^ {4}([\w-]+:.*?);$/gms)].map(([, declaration]) => `${selector} ${declaration}`),
    ),
  }));
}

const QUERIES = STYLES.flatMap((name) => mediaQueries(readFileSync(name, 'utf8')));

test('each media query stands at the top level, so that none is inside another', () => {
  const queries = STYLES.map((name) => readFileSync(name, 'utf8')).join('\n');
  expect(QUERIES).toHaveLength(queries.match(/@media/g)?.length ?? 0);
  expect(QUERIES.length).toBeGreaterThan(5);
});

test('a color scheme changes the custom properties of the root, and nothing else', () => {
  const ofColors = QUERIES.filter(({ condition }) => condition.includes('prefers-color-scheme'));
  expect(ofColors.map(({ condition }) => condition)).toEqual(['(prefers-color-scheme: dark)']);
  const [dark] = ofColors;
  expect(dark?.declarations.length).toBeGreaterThan(10);
  expect(dark?.declarations.filter((one) => !one.startsWith(':root --'))).toEqual([]);
});

test('a width changes no color of a text or its ground', () => {
  const ofWidth = QUERIES.filter(({ condition }) => /width/.test(condition)).flatMap(
    (one) => one.declarations,
  );
  expect(ofWidth.length).toBeGreaterThan(20);
  const colored = /(?<!:before) (?:--[\w-]+|color|background[\w-]*|opacity|fill|filter|mix-blend-mode):/;
  expect(ofWidth.filter((one) => colored.test(one))).toEqual([]);
});
