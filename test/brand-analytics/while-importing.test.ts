import { expect, test } from 'vitest';
import type { QueuedOperation } from '../../src/operations/define.ts';
import { type QueuedName, queuedOperation } from '../../src/operations/index.ts';
import type { Handler, HandlerContext } from '../../workers/handlers/handler.ts';
import { HANDLERS } from '../../workers/handlers/index.ts';
import { openTestDatabase } from '../support/database.ts';
import { csvReport, load, REPORTS, type TestTerm } from '../support/reports.ts';

const database = await openTestDatabase();

const WEEK = '2026-03-07';
const ASIN = 'B0CAMP0001';
const ROUNDS = 6;

/** The terms of a round: twice as many as before. Most are new, so the dictionary is rewritten as well. */
function report(round: number): string {
  const terms: TestTerm[] = Array.from({ length: 20 * 2 ** round }, (_, i) => ({
    term: i === 0 ? 'tent' : `tent ${round} number ${i}`,
    rank: i + 1,
    brands: [`Brand ${round}`],
    products: [[ASIN, 'A tent', String(round), '']],
  }));
  return csvReport(WEEK, terms);
}

/** Reads the data of a call as a worker does. */
async function read(name: QueuedName, given: Record<string, unknown>): Promise<unknown> {
  const operation = queuedOperation(name);
  if (!operation) throw new Error(`no operation ${name}`);
  const input = operation.params.parse(given);
  const { signal } = new AbortController();
  const context = {
    sources: operation.source(input),
    upstream: { reports: { database, provider: REPORTS } },
    signal,
    useEdition() {},
  };
  const handler = HANDLERS[name] as Handler<QueuedOperation>;
  const [value] = (await handler(input, context as unknown as HandlerContext)).values();
  return value;
}

test('a query during an import returns only rows of the old week or only rows of the new one', async () => {
  await load(database, 'us', report(0));
  const { rows } = await database.query<{ id: number }>("select id from aba_terms where term = 'tent'");
  const wordId = rows[0]?.id;
  let isImporting = true;
  const reads: Record<string, number> = {};

  /** @param mostRounds the number of imports from which one answer may contain rows. */
  async function keepReading(
    name: QueuedName,
    given: Record<string, unknown>,
    mostRounds = 1,
  ): Promise<void> {
    while (isImporting) {
      const found = JSON.stringify(await read(name, given));
      const rounds = new Set(
        found.match(/tent \d|Brand \d|"clickShare(?:Sum)?":\d/g)?.map((text) => text.at(-1)),
      );
      if (rounds.size < 1 || rounds.size > mostRounds)
        throw new Error(`${name}: rounds ${[...rounds].join()} in ${found}`);
      reads[name] = (reads[name] ?? 0) + 1;
    }
  }

  async function importAll(): Promise<void> {
    try {
      for (let round = 1; round <= ROUNDS; round += 1) await load(database, 'us', report(round));
    } finally {
      isImporting = false;
    }
  }

  await Promise.all([
    importAll(),
    keepReading('aba.rank', { country: 'us', limit: 20 }),
    keepReading('aba.rank', { country: 'us', limit: 10, keyword: 'number' }),
    // A search also finds terms of replaced weeks.
    keepReading('aba.search', { country: 'us', keyword: 'tent number' }, ROUNDS + 1),
    keepReading('aba.word', { wordId }),
    keepReading('aba.wordhistory', { wordId }),
    keepReading('aba.wordgoods', { wordId, country: 'us', reportDate: WEEK }),
    keepReading('aba.asinreverse', { asins: [ASIN], limit: 20 }),
  ]);
  // Every reader continued during the imports.
  expect(Object.values(reads).every((times) => times > ROUNDS)).toBe(true);
}, 60_000);
