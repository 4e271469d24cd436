import { EVEN_MIX } from '../test/support/soak/clients.ts';
import { createDice } from '../test/support/soak/dice.ts';
import { networkRoundOf, planStrikes, roundOf } from '../test/support/soak/plan.ts';
import { DEFECTS, type Defect } from '../test/support/soak/planted/defects.ts';
import { plant } from '../test/support/soak/planted/plant.ts';
import { record, today } from '../test/support/soak/records.ts';
import { soak } from '../test/support/soak/soak.ts';

const MOST_SEEDS = 20;
const TOPOLOGY = { gateways: 2 };
const AMOUNT = { seconds: 25, pauseMs: 5_000 };

/** Runs the soak with each of some defects, on one seed after the other, until a rule finds it. @returns whether all were found. */
export async function soakPlanted(
  names: readonly string[],
  { programs, records }: { programs: string; records: boolean },
): Promise<boolean> {
  const unknown = names.filter((name) => !DEFECTS.some((defect) => defect.name === name));
  if (unknown.length > 0)
    throw new Error(
      `No such defect: ${unknown.join(', ')}. They are: ${DEFECTS.map(({ name }) => name).join(', ')}`,
    );
  const chosen = DEFECTS.filter(({ name }) => names.length === 0 || names.includes(name));
  const table: Record<string, { 'at seed': number | string; rule: string }> = {};
  for (const defect of chosen) {
    const { seeds, rule } = await find(defect, programs);
    table[defect.name] = { 'at seed': rule === null ? 'not found' : seeds, rule: rule ?? '' };
    console.log(
      `${defect.name}: ${rule === null ? `not found in ${seeds} seeds` : `seed ${seeds}: ${rule}`}`,
    );
    if (records) record({ kind: 'planted', day: today(), defect: defect.name, seeds, rule });
  }
  console.table(table);
  return Object.values(table).every(({ rule }) => rule !== '');
}

async function find(defect: Defect, present: string): Promise<{ seeds: number; rule: string | null }> {
  const { programs, sql, remove } = await plant(defect, present);
  try {
    for (let seed = 1; seed <= MOST_SEEDS; seed += 1) {
      const plan = {
        round: roundOf(TOPOLOGY),
        network: networkRoundOf(TOPOLOGY),
        pairs: 0.3,
        amount: AMOUNT,
      };
      const { faults, sent } = await soak({
        ...{ seed, programs, sql, topology: TOPOLOGY, amount: AMOUNT, clients: 24, mix: EVEN_MIX },
        strikes: planStrikes(createDice(seed), plan),
        ...{ rounds: 1, drainSeconds: 100, say: () => undefined },
      });
      const broken = [...new Set(faults.map(({ promise }) => promise))];
      console.log(
        `${defect.name}, seed ${seed}: ${sent} requests; broken: ${broken.join('; ') || 'nothing'}`,
      );
      const rule = broken.find((promise) => defect.rule.test(promise));
      if (rule) return { seeds: seed, rule };
    }
    return { seeds: MOST_SEEDS, rule: null };
  } finally {
    await remove();
  }
}
