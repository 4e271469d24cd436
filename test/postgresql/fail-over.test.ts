import { randomInt } from 'node:crypto';
import { expect, inject, test } from 'vitest';
import { EVEN_MIX } from '../support/soak/clients.ts';
import { soak } from '../support/soak/soak.ts';
import { FAIL_OVERS } from '../support/soak/strikes.ts';

const seed = Number(process.env.SOAK_SEED ?? randomInt(2 ** 31));

test(`accounts for every unit and completes all work when the standby of PostgreSQL becomes primary under load (seed ${seed})`, {
  timeout: 600_000,
}, async () => {
  const said: string[] = [];
  const report = await soak({
    programs: inject('programs'),
    seed,
    amount: { seconds: 6, pauseMs: 1_500 },
    gateways: 2,
    standby: true,
    plan: { round: FAIL_OVERS, pairs: 0 },
    clients: 12,
    mix: EVEN_MIX,
    rounds: 1,
    drainSeconds: 300,
    say: (line) => said.push(line),
  });
  for (const strike of ['kill postgres', 'change postgres'])
    expect(report.strikes[strike], said.join('\n')).toBeGreaterThan(0);
  expect(report.calls.settled, said.join('\n')).toBeGreaterThan(50);
  expect(report.background['batches done'], said.join('\n')).toBeGreaterThan(0);
  expect(report.faults.slice(0, 10), said.join('\n')).toEqual([]);
});
