import { request } from 'undici';
import type { BatchView } from '../../src/batches/batch.ts';
import type { MeterReport } from '../metered-upstream.ts';
import { reportOf } from '../probe-report.ts';
import type { Row } from '../row.ts';
import type { Services } from '../services.ts';
import { bodyOfBatch, finished, ITEMS, readResults } from './batch.ts';

/** Of each account. */
const TOKENS_PER_MINUTE = 10_000;
/** Half of the second refill is sold. */
const KILL_AFTER = 45_000;

const sum = (values: readonly number[]) => values.reduce((all, value) => all + value, 0);

const keyOf = (name: string) => name.padEnd(64, '0');

/** Compares the tokens that a batch of 100,000 ASINs uses after one of three accounts was killed with the refill of the others. */
export async function accountsRows(services: Services): Promise<Row[]> {
  const names = ['one', 'two', 'three'];
  const killed = keyOf('two');
  const upstream = await services.start('bench/metered-upstream.ts', {
    env: {
      TOKENS_PER_MINUTE: String(TOKENS_PER_MINUTE),
      KILL_KEY: killed,
      KILL_AFTER: String(KILL_AFTER),
    },
  });
  const { url } = await services.startSouk(upstream.ready, {
    env: { KEEPA_API_KEY: names.map((name) => `${name}:${keyOf(name)}`).join(',') },
  });
  const [key = ''] = await services.keys(1);
  const headers = { 'x-api-key': key, 'content-type': 'application/json' };
  upstream.child.send('reset');
  const reply = await request(`${url}/api/batches`, { method: 'POST', headers, body: bodyOfBatch() });
  const { data } = (await reply.body.json()) as { data: BatchView };
  const batch = await finished(`${url}${data.links.self}`, headers);
  const { accounts, soldTwice, refillsBeforeKill } = await reportOf<MeterReport>(upstream.child);
  const { lines } = await readResults(`${url}${batch.links.results}`, headers);
  const { rows } = await services.database.query<{ units: number }>(
    'select coalesce(sum(units), 0)::bigint as units from usage_days',
  );
  const charged = rows[0]?.units ?? 0;
  const others = Object.entries(accounts).flatMap(([name, account]) => (name === killed ? [] : [account]));
  const minutes = others.flatMap(({ spentByMinute }) => spentByMinute.slice(refillsBeforeKill));
  const spent = sum(minutes);
  // What is left of a refill may be used in the next minutes, and counts only if it is never used.
  const unused = sum(others.map((account) => Math.max(0, account.unused)));
  const limited = sum(Object.values(accounts).map((account) => account.limited));
  const refused = accounts[killed]?.refused ?? 0;
  const wrong = [lines - ITEMS, charged - ITEMS, batch.units.charged - ITEMS, batch.counts.failed, soldTwice];
  return [
    {
      what: `a batch of ${ITEMS} ASINs, one of three accounts killed after ${KILL_AFTER}: tokens of the others used / available from then on`,
      ours: `${spent} tokens; ${lines} results, ${charged} units charged, ${soldTwice} products fetched twice, ${refused} calls refused, ${limited} limited`,
      baseline: `${spent + unused} tokens in ${minutes.length / others.length} minutes`,
      ratio: spent / (spent + unused),
      aim: 'at least 0.95, nothing lost or charged twice',
      failures: wrong.filter((difference) => difference !== 0).length,
    },
  ];
}
