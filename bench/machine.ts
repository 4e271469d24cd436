import { readFileSync } from 'node:fs';
import { cpus, loadavg } from 'node:os';
import { sum } from 'd3-array';
import { cpuTimeMs } from './process-times.ts';

/** The kernel counts CPU time in hundredths of a second. */
const TICK_MS = 10;

/** The CPU time of the whole machine, in milliseconds. `stolen` was taken by other machines of the same host. */
interface MachineTimes {
  busy: number;
  stolen: number;
}

function machineTimes(): MachineTimes {
  const [, ...fields] = readFileSync('/proc/stat', 'utf8').split('\n', 1)[0]?.split(/\s+/) ?? [];
  const [user = 0, nice = 0, system = 0, , , irq = 0, softirq = 0, steal = 0] = fields.map(Number);
  return { busy: TICK_MS * (user + nice + system + irq + softirq), stolen: TICK_MS * steal };
}

/** Processes that run or wait for a CPU now, this one excluded. */
function runQueue(): number {
  return Number(/ (\d+)\//.exec(readFileSync('/proc/loadavg', 'utf8'))?.[1] ?? 1) - 1;
}

/** More CPU time of other programs than this share of the machine makes figures unreliable. */
const BUSY_SHARE = 0.05;

/**
 * Observes the machine during a measurement.
 * @param processes the processes that take part, this one excluded.
 * @returns a function that describes the load of other programs, or returns null if it is small.
 */
export async function watchMachine(
  processes: ReadonlyMap<string, number>,
): Promise<() => Promise<string | null>> {
  const usedMs = async () => sum(await cpuTimeMs([...processes.values()]));
  const ours = await usedMs();
  const before = { at: performance.now(), ...machineTimes(), self: process.cpuUsage() };
  const load = () => (loadavg()[0] ?? 0).toFixed(1);
  const [loadBefore, queueBefore] = [load(), runQueue()];
  return async () => {
    const { busy, stolen } = machineTimes();
    const { user, system } = process.cpuUsage(before.self);
    const othersMs = busy - before.busy - ((await usedMs()) - ours) - (user + system) / 1000;
    const capacityMs = (performance.now() - before.at) * cpus().length;
    const share = (ms: number) => `${((100 * ms) / capacityMs).toFixed(0)} %`;
    const stolenMs = stolen - before.stolen;
    if (othersMs + stolenMs < BUSY_SHARE * capacityMs) return null;
    return (
      `other programs used ${share(othersMs)} of the CPUs, ${share(stolenMs)} was stolen; ` +
      `load ${loadBefore} before, ${load()} after; run queue ${queueBefore} before, ${runQueue()} after`
    );
  };
}
