import { randomInt } from 'node:crypto';
import { expect, inject, test } from 'vitest';
import { EVEN_MIX } from '../support/soak/clients.ts';
import { createDice } from '../support/soak/dice.ts';
import { FAIL_OVERS, planStrikes } from '../support/soak/plan.ts';
import { soak } from '../support/soak/soak.ts';

const seed = Number(process.env.SOAK_SEED ?? randomInt(2 ** 31));

test(`accounts for every unit and completes all work when the standby of PostgreSQL becomes primary under load (seed ${seed})`, {
  timeout: 600_000,
}, async () => {
  const said: string[] = [];
  const amount = { seconds: 6, pauseMs: 1_500 };
  const report = await soak({
    programs: inject('programs'),
    seed,
    amount,
    topology: { gateways: 2, standby: true },
    strikes: planStrikes(createDice(seed), { round: FAIL_OVERS, network: [], pairs: 0, amount }),
    clients: 12,
    mix: EVEN_MIX,
    rounds: 1,
    drainSeconds: 300,
    say: (line) => said.push(line),
  });
  for (const strike of ['kill postgres', 'change postgres'])
    expect(report.strikes[strike], said.join('\n')).toBeGreaterThan(0);
  // Enough to be a load: how many fit in the seconds depends on the machine, and none is admitted while the books are audited.
  expect(report.counts['calls charged'], said.join('\n')).toBeGreaterThan(10);
  expect(report.counts['batches done'], said.join('\n')).toBeGreaterThan(0);
  expect(report.faults.slice(0, 10), said.join('\n')).toEqual([]);
});
