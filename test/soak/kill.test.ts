import { randomInt } from 'node:crypto';
import { expect, inject, test } from 'vitest';
import { EVEN_MIX } from '../support/soak/clients.ts';
import { soak } from '../support/soak/soak.ts';
import { SHORT_ROUND } from '../support/soak/strikes.ts';

// The short form of `npm run soak`. SOAK_SEED repeats the random decisions of a run.
const seed = Number(process.env.SOAK_SEED ?? randomInt(2 ** 31));

test(`accounts for every unit and completes every batch, run and delivery when processes are killed and stopped under load (seed ${seed})`, {
  timeout: 600_000,
}, async () => {
  const said: string[] = [];
  const report = await soak({
    programs: inject('programs'),
    seed,
    amount: { seconds: 6, pauseMs: 1_200 },
    gateways: 2,
    plan: { round: SHORT_ROUND, pairs: 1 },
    clients: 12,
    mix: EVEN_MIX,
    rounds: 1,
    drainSeconds: 300,
    say: (line) => said.push(line),
  });
  // A run that did nothing would prove nothing.
  expect(report.calls.settled, said.join('\n')).toBeGreaterThan(50);
  expect(report.background['batches done'], said.join('\n')).toBeGreaterThan(5);
  expect(report.background['deliveries delivered'], said.join('\n')).toBeGreaterThan(5);
  expect(report.faults.slice(0, 10), said.join('\n')).toEqual([]);
});
