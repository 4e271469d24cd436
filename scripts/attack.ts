import {
  ATTACK_CASES,
  type AttackReport,
  FLOOR_MS,
  MOST_RATIO,
  runAttacks,
} from '../test/support/attack/attack.ts';
import { openOwnServers } from '../test/support/own-servers.ts';
import { buildPrograms } from './build.mjs';

/**
 * `npm run attack [CASE ...]`: floods a service of its own in one way after the other, and fails if calls of another account
 * become slow, or if the service breaks another promise.
 */
const names = process.argv.slice(2);
const unknown = names.filter((name) => !ATTACK_CASES.some((attackCase) => attackCase.name === name));
if (unknown.length > 0) {
  const known = ATTACK_CASES.map(({ name, what }) => `  ${name.padEnd(14)} ${what}`).join('\n');
  console.error(`No such case: ${unknown.join(', ')}. The cases are:\n${known}`);
  process.exit(1);
}
const cases = ATTACK_CASES.filter(({ name }) => names.length === 0 || names.includes(name));

console.log(
  `The p95 of a cached call of a second account must be at most ${MOST_RATIO} times that before the attack, or ${FLOOR_MS} ms.`,
);
const programs = await buildPrograms();
const servers = await openOwnServers();
let failed = 0;
try {
  await runAttacks(cases, { programs, servers, onReport: print });
} finally {
  await servers.close();
}
console.log(`${cases.length - failed} of ${cases.length} attacks had no effect on other accounts.`);
process.exit(failed === 0 ? 0 : 1);

function print({
  name,
  what,
  answers,
  idle,
  during,
  gatewayMib,
  redisMib,
  notes,
  faults,
}: AttackReport): void {
  const isOk = faults.length === 0;
  if (!isOk) failed += 1;
  const counts = Object.entries(answers).map(
    ([status, count]) => `${count.toLocaleString('en')} x ${status}`,
  );
  const felt =
    during.calls > 1
      ? `second account: p95 ${idle.p95Ms.toFixed(1)} ms idle, ${during.p95Ms.toFixed(1)} ms under attack (x ${(during.p95Ms / idle.p95Ms).toFixed(1)}, ${during.calls} calls)`
      : `second account: p95 ${idle.p95Ms.toFixed(1)} ms idle`;
  const memory = `gateway +${gatewayMib} MiB, Redis +${redisMib} MiB`;
  console.log(
    `${isOk ? 'ok    ' : 'FAILED'} ${name}: ${what}: ${[counts.join(', '), felt, memory, ...notes].join('; ')}`,
  );
  for (const fault of faults) console.log(`       BROKEN: ${fault}`);
}
