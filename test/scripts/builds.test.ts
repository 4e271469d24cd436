import { existsSync, mkdirSync, readdirSync, utimesSync, writeFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test as base, expect } from 'vitest';
import { programsOf } from '../../scripts/dist.mjs';

/** A folder with the sources of one program. */
const test = base.extend('checkout', async ({ task: _task }, { onCleanup }) => {
  const checkout = await mkdtemp(join(tmpdir(), 'souk-builds-'));
  onCleanup(() => rm(checkout, { recursive: true, force: true }));
  mkdirSync(join(checkout, 'src'));
  writeFileSync(join(checkout, 'src', 'main.ts'), 'first');
  return checkout;
});

async function compile(folder: string): Promise<void> {
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'main.js'), 'compiled');
}

const buildsOf = (checkout: string) =>
  readdirSync(join(checkout, '.souk', 'builds')).filter((name) => !name.endsWith('.users'));

test('compiles the same sources once', async ({ checkout }) => {
  let builds = 0;
  const counted = (folder: string) => {
    builds += 1;
    return compile(folder);
  };
  const first = await programsOf(checkout, counted);
  expect(await programsOf(checkout, counted)).toBe(first);
  expect(builds).toBe(1);
});

test('two builds of the same sources at the same time leave one complete build', async ({ checkout }) => {
  // The second build starts and ends while the first one compiles.
  const folder = await programsOf(checkout, async (unfinished) => {
    await compile(`${unfinished.replace(/\.\d+$/, '')}`);
    await compile(unfinished);
  });
  expect(existsSync(join(folder, 'main.js'))).toBe(true);
  expect(buildsOf(checkout)).toHaveLength(1);
});

test('a build stays while a process uses it, and is removed later', async ({ checkout }) => {
  const used = await programsOf(checkout, compile);
  const longAgo = new Date(Date.now() - 3_600_000);
  utimesSync(used, longAgo, longAgo);
  writeFileSync(join(checkout, 'src', 'main.ts'), 'second state');
  const second = await programsOf(checkout, compile);
  expect(second).not.toBe(used);
  expect(existsSync(join(used, 'main.js'))).toBe(true);

  await rm(`${used}.users`, { recursive: true });
  writeFileSync(join(checkout, 'src', 'main.ts'), 'a third state');
  await programsOf(checkout, compile);
  expect(existsSync(used)).toBe(false);
  expect(existsSync(second)).toBe(true);
});

test('without sources, as in the image, the programs are in dist', async ({ checkout }) => {
  await rm(join(checkout, 'src'), { recursive: true });
  expect(await programsOf(checkout, compile)).toBe(join(checkout, 'dist'));
});
