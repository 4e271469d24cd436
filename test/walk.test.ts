import { readFileSync } from 'node:fs';
import { Session } from 'node:inspector/promises';
import { afterAll, beforeAll, expect, vi } from 'vitest';
import { systemClock } from '../src/platform/clock.ts';
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

// What runs every second of the machine does not run: on a busy one, it would run as often as the calls do.
beforeAll(() => {
  vi.spyOn(systemClock, 'after').mockReturnValue(() => {});
});
afterAll(() => {
  vi.restoreAllMocks();
});

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
    const isCached = kind === 'cached';
    const most = MOST_ROUNDS * CALLS;
    const asked = asins(2 * most).slice(isCached ? 0 : most);
    const ask = async (client: Client, asin: string) => {
      const reply = await client.get(`/api/market/product?country=us&asin=${asin}`);
      expect(reply.status).toBe(200);
      return reply.headers['x-cache'];
    };
    const client = await souk.client();
    // The first call of a process does what no later one does.
    await ask(client, 'B0FIRSTONE');
    const walk = isCached ? listed(heading) : [...listed('A cached call'), ...listed(heading)].sort();
    let files: string[] = [];
    for (let round = 0; round < MOST_ROUNDS && files.join() !== walk.join(); round += 1) {
      // Of products that were asked for once: an address that comes a third time is not parsed.
      const these = asked.slice(round * CALLS, (round + 1) * CALLS);
      if (isCached) for (const asin of these) await ask(client, asin);
      // A cached call of the same customer would be answered by the call before.
      const caller = isCached ? await souk.client() : client;
      const found = await filesOf(
        these.map((asin) => async () => expect(await ask(caller, asin)).toBe(isCached ? 'HIT' : 'MISS')),
      );
      files = round === 0 ? found : files.filter((file) => found.includes(file));
    }
    expect(files).toEqual(walk);
    expect(walk.length).toBeLessThanOrEqual(MOST[kind]);
  },
);
