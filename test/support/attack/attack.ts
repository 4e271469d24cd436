import type { OwnServers } from '../own-servers.ts';
import { openTarget } from '../target.ts';
import type { Answers, AttackCase, PreparedAttack, Scene, Verdict } from './attack-case.ts';
import { startAttacker } from './attacker.ts';
import { connections } from './cases/connections.ts';
import { freeCalls } from './cases/free-calls.ts';
import { refusedRuns, replays, webhookTests } from './cases/free-rows.ts';
import { fields, unknownKeys } from './cases/keys.ts';
import { lockedAccount } from './cases/locked-account.ts';
import { pages } from './cases/pages.ts';
import { purchases } from './cases/purchases.ts';
import { quotaReads } from './cases/quota.ts';
import { signUps } from './cases/sign-ups.ts';
import { slowConnections } from './cases/slow-connections.ts';
import { stoppedPostgres, stoppedRedis } from './cases/stores.ts';
import { unfinishedUploads, uploads } from './cases/uploads.ts';
import { manyHosts, webhooks } from './cases/webhooks.ts';
import { watchMemory } from './memory.ts';
import { type Answer, type Experience, openSecondAccount } from './second-account.ts';

export const ATTACK_CASES: readonly AttackCase[] = [
  fields,
  unknownKeys,
  freeCalls,
  quotaReads,
  pages,
  signUps,
  connections,
  purchases,
  lockedAccount,
  webhooks,
  manyHosts,
  replays,
  webhookTests,
  refusedRuns,
  uploads,
  unfinishedUploads,
  slowConnections,
  stoppedRedis,
  stoppedPostgres,
];

/** A cached call of another account may take this many times as long as without the attack. */
export const MOST_RATIO = 3;

/**
 * A shorter p95 passes with any ratio. Attacker, service and stores share the processors of one machine here: a call waits
 * for about six turns of processes, and the system gives a busy process turns of about four milliseconds.
 */
export const FLOOR_MS = 25;

/** How long the second account is watched before and after an attack. */
const IDLE_MS = 3_000;

export interface AttackReport {
  name: string;
  what: string;
  answers: Answers;
  idle: Experience;
  during: Experience;
  gatewayMib: number;
  redisMib: number;
  notes: readonly string[];
  faults: readonly string[];
}

/** Opens a service and attacks it with each case in turn. */
export async function runAttacks(
  cases: readonly AttackCase[],
  options: { programs: string; servers: OwnServers; onReport(report: AttackReport): void },
): Promise<void> {
  const { programs, servers, onReport } = options;
  const target = await openTarget({ programs, ...servers, env: { PAYMENTS: 'manual' } });
  const attacker = startAttacker();
  try {
    const secondAccount = await openSecondAccount(target);
    const scene: Scene = { target, servers, attacker, secondAccount };
    for (const attackCase of cases) onReport(await runCase(scene, attackCase));
    secondAccount.close();
  } finally {
    await attacker.close();
    await target.close();
  }
}

async function runCase(scene: Scene, { name, what, prepare }: AttackCase): Promise<AttackReport> {
  const { target, servers, secondAccount } = scene;
  const prepared = await prepare(scene);
  await secondAccount.prepare();
  // Answers from before and after the attack, because other programs may make the machine slower meanwhile.
  const idleAnswers: Answer[] = [];
  const watchIdle = () => {
    const until = performance.now() + IDLE_MS;
    return secondAccount.experience(() => performance.now() > until, 1, idleAnswers);
  };
  await watchIdle();
  const memory = await watchMemory(target.gatewayPid, servers.redisUrl);
  let isOver = false;
  const attack = prepared.attack().finally(() => {
    isOver = true;
  });
  const [answers, during] = await Promise.all([
    attack,
    secondAccount.experience(() => isOver || prepared.stopsStore === true),
  ]);
  const grown = await memory.stop();
  const { notes, faults }: Verdict = (await prepared.judge?.(answers)) ?? { notes: [], faults: [] };
  const idle = await watchIdle();
  const report = { name, what, answers, idle, during, ...grown };
  return { ...report, notes, faults: [...faultsOf(prepared, report), ...target.deaths, ...faults] };
}

function faultsOf(
  { stopsStore = false, gatewayGrowthMib = Infinity, redisGrowthMib = Infinity }: PreparedAttack,
  { idle, during, gatewayMib, redisMib }: Omit<AttackReport, 'notes' | 'faults'>,
): string[] {
  const faults: string[] = [];
  if (!stopsStore) {
    const limitMs = Math.max(MOST_RATIO * idle.p95Ms, FLOOR_MS);
    if (during.p95Ms > limitMs) faults.push(`p95 of the second account is over ${limitMs.toFixed(1)} ms`);
    if (Object.keys(during.answers).join() !== '200')
      faults.push(`the second account got ${JSON.stringify(during.answers)}`);
  }
  if (gatewayMib > gatewayGrowthMib) faults.push(`the gateway grew by more than ${gatewayGrowthMib} MiB`);
  if (redisMib > redisGrowthMib) faults.push(`Redis grew by more than ${redisGrowthMib} MiB`);
  return faults;
}
