import { randomInt } from 'node:crypto';
import { expect, inject, test } from 'vitest';
import { EVEN_MIX } from '../support/soak/clients.ts';
import { createDice } from '../support/soak/dice.ts';
import { planStrikes, SHORT_ROUND } from '../support/soak/plan.ts';
import { soak } from '../support/soak/soak.ts';

// The short form of `npm run soak`. SOAK_SEED repeats the random decisions of a run.
const seed = Number(process.env.SOAK_SEED ?? randomInt(2 ** 31));

test(`accounts for every unit and completes every batch, run and delivery when processes are killed, stopped and disconnected under load (seed ${seed})`, {
  timeout: 600_000,
}, async () => {
  const said: string[] = [];
  const amount = { seconds: 6, pauseMs: 1_200 };
  const report = await soak({
    programs: inject('programs'),
    seed,
    amount,
    topology: { gateways: 2 },
    strikes: planStrikes(createDice(seed), { round: SHORT_ROUND, network: [], pairs: 1, amount }),
    clients: 12,
    mix: EVEN_MIX,
    rounds: 1,
    drainSeconds: 300,
    say: (line) => said.push(line),
  });
  // A run that did nothing would prove nothing.
  expect(report.counts['calls charged'], said.join('\n')).toBeGreaterThan(50);
  expect(report.counts['batches done'], said.join('\n')).toBeGreaterThan(5);
  expect(report.counts['deliveries delivered'], said.join('\n')).toBeGreaterThan(5);
  expect(report.faults.slice(0, 10), said.join('\n')).toEqual([]);
});
