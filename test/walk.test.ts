import { readFileSync } from 'node:fs';
import { Session } from 'node:inspector/promises';
import { expect } from 'vitest';
import { projectFile } from '../src/platform/project.ts';
import type { Client } from './support/client.ts';
import { asins } from './support/parameters.ts';
import { test } from './support/souk-test.ts';

/** More calls than a background task runs meanwhile, on a machine without other work. */
const CALLS = 30;

/** On a busy machine, a background task may run as often as the calls do, but hardly in each round. */
const MOST_ROUNDS = 5;

/** Files that a reader has to open at most. */
const MOST = { cached: 35, uncached: 70 } as const;

/** Runs the calls, and returns the files of which a function ran at least once for each of them. */
async function filesOf(calls: readonly (() => Promise<void>)[]): Promise<string[]> {
  const session = new Session();
  session.connect();
  try {
    await session.post('Profiler.enable');
    await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false });
    for (const call of calls) await call();
    const { result } = await session.post('Profiler.takePreciseCoverage');
    return result
      .filter(({ functions }) => functions.some(({ ranges }) => (ranges[0]?.count ?? 0) >= calls.length))
      .flatMap(({ url }) => /\/((?:src|jobs|workers)\/[^?]+\.tsx?)/.exec(url)?.[1] ?? [])
      .sort();
  } finally {
    session.disconnect();
  }
}

/** Returns the files that CONTRIBUTING.md lists under a heading. */
function listed(heading: string): string[] {
  const [, section = ''] = readFileSync(projectFile('CONTRIBUTING.md'), 'utf8').split(`### ${heading}\n`);
  const [table = ''] = section.split('\n#');
  return [...table.matchAll(/`((?:src|jobs|workers)\/[^`]+\.tsx?)`/g)]
    .flatMap(([, file]) => file ?? [])
    .sort();
}

test.for([
  ['A cached call', 'cached'],
  ['An uncached call', 'uncached'],
] as const)(
  '%s of a product runs the files that CONTRIBUTING.md lists, and no more than its limit',
  async ([heading, kind], { souk }) => {
    const asked = asins((MOST_ROUNDS + 1) * CALLS);
    const ask = async (client: Client, asin: string) => {
      const reply = await client.get(`/api/market/product?country=us&asin=${asin}`);
      expect(reply.status).toBe(200);
      return reply.headers['x-cache'];
    };
    const client = await souk.client();
    // The first call of a process does what no later one does.
    await ask(client, 'B0FIRSTONE');
    const [mine, expected] = kind === 'cached' ? [asked.slice(-CALLS), 'HIT'] : [asked, 'MISS'];
    if (kind === 'cached') for (const asin of mine) await ask(await souk.client(), asin);
    const walk =
      kind === 'cached' ? listed(heading) : [...listed('A cached call'), ...listed(heading)].sort();
    let files: string[] = [];
    for (let round = 0; round < MOST_ROUNDS && files.join() !== walk.join(); round += 1) {
      // A cached call of the same customer would be answered by the call before.
      const caller = kind === 'cached' ? await souk.client() : client;
      const these = kind === 'cached' ? mine : mine.slice(round * CALLS, (round + 1) * CALLS);
      const found = await filesOf(
        these.map((asin) => async () => expect(await ask(caller, asin)).toBe(expected)),
      );
      files = round === 0 ? found : files.filter((file) => found.includes(file));
    }
    expect(files).toEqual(walk);
    expect(walk.length).toBeLessThanOrEqual(MOST[kind]);
  },
);
