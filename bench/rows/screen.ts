import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { SCREEN_SORTS } from '../../src/operations/research/screen-cursor.ts';
import { addDays } from '../../src/platform/calendar.ts';
import { cpuTimes } from '../process-times.ts';
import type { Row } from '../row.ts';
import type { Services } from '../services.ts';
import { generateReports, load, percentiles } from './brand-analytics.ts';

const WEEK = '2026-10-31';
/** BENCH_SCREEN_TERMS takes fewer, for a shorter run. */
const TERMS = Number(process.env.BENCH_SCREEN_TERMS ?? 1_000_000);
/** The weeks of the changes are smaller: the changes of most terms are unknown, and take the same time. */
const COMPARED_TERMS = Math.round(TERMS / 5);
const LIMIT_MS = 300;
const WARM_UP_CALLS = 50;

const WORDS =
  'tent,dog bed,shampoo,usb,charger,pillow,yoga mat,gift,wooden,for,cats,kite,lam,ing,red,bag'.split(',');
const BRANDS = ['Acme', 'Globex', 'Umbra', 'Kestrel', 'Lumio', 'Unknown'];

/**
 * Measures screens of a week of a million terms, with random combinations of filters, over HTTP through queue and worker. A screen
 * reads the narrow table of one week, so other weeks do not affect it, except by the memory in which PostgreSQL and the system keep
 * tables: the size of all tables of 104 weeks is printed.
 */
export async function screenRows(services: Services): Promise<Row[]> {
  const folder = await mkdtemp(join(tmpdir(), 'souk-bench-screen-'));
  try {
    for (const [days, terms] of [
      [-84, COMPARED_TERMS],
      [-28, COMPARED_TERMS],
      [0, TERMS],
    ] as const) {
      const week = addDays(WEEK, days);
      await generateReports(folder, terms, [week]);
      const startedAt = performance.now();
      await load(services, join(folder, `us-${week}.csv`));
      console.log(
        `${week}: ${terms} terms imported in ${((performance.now() - startedAt) / 1000).toFixed(1)} s`,
      );
    }
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
  await printSizes(services);
  const { url } = await services.startSouk('http://127.0.0.1:9');
  const [key = ''] = await services.keys(1);
  for (let n = 0; n < WARM_UP_CALLS; n += 1) await ask(url, key, { limit: 1 + n, sort: '-change4' });
  const rows: Row[] = [];
  for (const [what, inputOf] of Object.entries(KINDS)) {
    const before = await cpuTimes(services.processes);
    let calls = 0;
    const { p50, p95, failures } = await percentiles((n) => {
      calls += 1;
      return ask(url, key, inputOf(n));
    });
    const after = await cpuTimes(services.processes);
    const cpu = Object.entries(after).map(
      ([name, ms]) => `${name} ${((ms - (before[name] ?? 0)) / calls).toFixed(0)} ms`,
    );
    rows.push({
      ...(what === 'any combination of filters' && { figure: 'screen' as const }),
      what: `screen, ${what}, ${TERMS} terms`,
      ours: `p50 ${p50.toFixed(0)} ms, p95 ${p95.toFixed(0)} ms`,
      baseline: `${LIMIT_MS} ms`,
      ratio: p95 / LIMIT_MS,
      aim: 'at most 1',
      // On a busy machine, half of the CPU time of PostgreSQL is about what two free cores would take.
      cpu: cpu.join(', '),
      failures,
    });
  }
  return rows;
}

async function printSizes({ database }: Services): Promise<void> {
  const { rows } = await database.query<{ part: string; bytes: number }>(
    `select regexp_replace(parent.relname, '_us$', '') as part, pg_total_relation_size(w.oid)::bigint as bytes
      from pg_class w join pg_inherits i on i.inhrelid = w.oid join pg_class parent on parent.oid = i.inhparent
      join aba_weeks a on w.relname in ('aba_ranks_us_' || a.import_id, 'aba_screens_us_' || a.screen_id)
      where a.site = 1 and a.week = $1`,
    [WEEK],
  );
  console.table(
    rows.map(({ part, bytes }) => ({
      part,
      'bytes a term': Math.round(bytes / TERMS),
      'GB in 104 weeks': Math.round((bytes * 104) / 1e7) / 100,
    })),
  );
}

/** The inputs of each kind; all calls differ. */
const KINDS: Record<string, (n: number) => Record<string, unknown>> = {
  'any combination of filters': randomScreen(1),
  'any combination of filters, again': randomScreen(2),
  'no filter, any order': (n) => ({ sort: SCREEN_SORTS[n % SCREEN_SORTS.length], limit: 900 + n }),
  'few matches': (n) => ({
    change4: { min: 1 + n * 1_000 },
    clickShare: { min: 40 },
    sort: '-change4',
    limit: 1000,
  }),
  'many words': (n) => ({
    words: [['ing', 'le', 'red', 'port'][n % 4]],
    notWords: Array.from({ length: 10 }, (_, i) => `${WORDS[(n + i) % WORDS.length]}`.split(' ')[0]),
    limit: 100 + n,
  }),
};

/** Repeatable numbers from 0 to 1. */
function numbers(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

function randomScreen(seed: number): () => Record<string, unknown> {
  const random = numbers(seed);
  const oneOf = <T>(list: readonly T[]): T => list[Math.floor(random() * list.length)] as T;
  const range = (least: number, most: number) => {
    const [a = 0, b = 0] = [random(), random()].map((share) => Math.round(least + share * (most - least)));
    return random() < 0.5 ? { min: a } : { min: Math.min(a, b), max: Math.max(a, b) };
  };
  return () => ({
    sort: oneOf(SCREEN_SORTS),
    limit: 1 + Math.floor(random() * 1000),
    ...(random() < 0.5 && { rank: range(1, TERMS) }),
    ...(random() < 0.3 && { change4: range(-COMPARED_TERMS, COMPARED_TERMS) }),
    ...(random() < 0.3 && { change12: range(-COMPARED_TERMS, COMPARED_TERMS) }),
    ...(random() < 0.4 && { clickShare: range(0, 80) }),
    ...(random() < 0.3 && { conversionShare: range(0, 40) }),
    ...(random() < 0.4 && { words: [oneOf(WORDS)] }),
    ...(random() < 0.3 && { notWords: [oneOf(WORDS), oneOf(WORDS)] }),
    ...(random() < 0.2 && { brand: oneOf(BRANDS) }),
    ...(random() < 0.2 && { newSince: oneOf([WEEK, addDays(WEEK, -28)]) }),
  });
}

async function ask(url: string, key: string, input: Record<string, unknown>): Promise<boolean> {
  const response = await fetch(`${url}/api/research/screen`, {
    method: 'POST',
    body: JSON.stringify({ country: 'us', ...input }),
    headers: { 'x-api-key': key, 'content-type': 'application/json' },
  });
  await response.arrayBuffer();
  return response.ok;
}
