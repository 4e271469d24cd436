import { extent, max, median, sum } from 'd3-array';
import { watchMachine } from './machine.ts';
import { cpuTimes } from './process-times.ts';
import type { Row } from './row.ts';
import type { Services } from './services.ts';

/** What one side did in one round. */
export interface Sample {
  calls: number;
  perSecond: number;
  bytesPerSecond: number;
  p50Ms: number;
  p99Ms: number;
  /** Unexpected answers. */
  failures: number;
}

/** The processes of either side. */
export const SOUK = ['gateway', 'worker', 'PostgreSQL', 'Redis'];
export const BARE = ['bare server', 'bare worker', 'PostgreSQL', 'Redis'];

/** One side of a comparison. */
export interface Side {
  /** The names of its processes. */
  processes: readonly string[];
  /** Sends load for some seconds. */
  send(seconds: number): Promise<Sample>;
}

type Figure = Exclude<keyof Sample, 'calls' | 'failures'>;

/** The rounds of one side. */
export interface Rounds {
  samples: readonly Sample[];
  /** The median of a figure. */
  median(figure: Figure): number;
  /** CPU time of a call by process, in milliseconds: the mean of all calls. */
  cpuMs: Record<string, number>;
  failures: number;
}

export interface Comparison<Name extends string> {
  sides: Record<Name, Rounds>;
  busy: string | null;
}

/** Lengths of a comparison. */
const DEFAULTS = { rounds: 5, seconds: 3, warmUpSeconds: 4, warmCalls: 1_000 };

const MOST_WARM_UPS = 5;

/** Measures the sides of a comparison alternately, so that a change of the machine's load affects all of them. */
export async function alternate<Name extends string>(
  { processes }: Services,
  sides: Record<Name, Side>,
  lengths: Partial<typeof DEFAULTS> = {},
): Promise<Comparison<Name>> {
  const { rounds, seconds, warmUpSeconds, warmCalls } = { ...DEFAULTS, ...lengths };
  const all = Object.entries<Side>(sides).map(([name, side]) => {
    const usedMs = Object.fromEntries(side.processes.map((process) => [process, 0]));
    return { name, side, samples: [] as Sample[], usedMs };
  });
  for (const { side } of all) await warmUp(side, warmUpSeconds, warmCalls);
  const machine = await watchMachine(processes);
  for (let round = 0; round < rounds; round += 1) {
    for (const { side, samples, usedMs } of all) {
      const before = await cpuTimes(processes);
      samples.push(await side.send(seconds));
      const after = await cpuTimes(processes);
      for (const name of side.processes)
        usedMs[name] = (usedMs[name] ?? 0) + (after[name] ?? 0) - (before[name] ?? 0);
    }
  }
  const busy = await machine();
  const entries = all.map(({ name, samples, usedMs }) => [name, roundsOf(samples, usedMs)]);
  return { sides: Object.fromEntries(entries) as Record<Name, Rounds>, busy };
}

/** Processes compile code that they have run often, so on a busy machine the warm-up takes longer. */
async function warmUp({ send }: Side, seconds: number, least: number): Promise<void> {
  for (let [calls, periods] = [0, 0]; calls < least && periods < MOST_WARM_UPS; periods += 1)
    calls += (await send(seconds)).calls;
}

function roundsOf(samples: readonly Sample[], usedMs: Record<string, number>): Rounds {
  const calls = sum(samples, (sample) => sample.calls);
  return {
    samples,
    median: (figure) => median(samples, (sample) => sample[figure]) ?? 0,
    cpuMs: Object.fromEntries(Object.entries(usedMs).map(([name, ms]) => [name, ms / calls])),
    failures: sum(samples, ({ failures }) => failures),
  };
}

/** Returns the ratio of two sides, and its spread over the rounds. */
function ratioOf(ours: Rounds, baseline: Rounds, figure: Figure): Pick<Row, 'ratio' | 'spread'> {
  const ratios = ours.samples.map(
    (sample, round) => sample[figure] / (baseline.samples[round]?.[figure] ?? 0),
  );
  const [least, most] = extent(ratios);
  return { ratio: median(ratios) ?? 0, spread: [least ?? 0, most ?? 0] };
}

/** Returns a row that compares the throughput of two sides. */
export function throughputRow(
  { figure, what, aim }: Pick<Row, 'figure' | 'what' | 'aim'>,
  { ours, baseline, busy }: { ours: Rounds; baseline: Rounds; busy: string | null },
): Row {
  return {
    ...(figure && { figure }),
    what,
    ours: throughputOf(ours),
    baseline: throughputOf(baseline),
    ...ratioOf(ours, baseline, 'perSecond'),
    aim,
    cpu: `${cpuOf(ours)}; baseline ${cpuOf(baseline)}; ratio ${(totalCpuMs(baseline) / totalCpuMs(ours)).toFixed(2)}`,
    busy,
    failures: ours.failures + baseline.failures,
  };
}

export function throughputOf(side: Rounds): string {
  const [least = 0, most = 0] = extent(side.samples, ({ perSecond }) => perSecond);
  const rate = `${digits(side.median('perSecond'))}/s (${digits(least)} to ${digits(most)})`;
  return `${rate}, ${latencyOf(side)}`;
}

export function latencyOf(side: Rounds): string {
  return `p50 ${digits(side.median('p50Ms'))} ms, p99 ${digits(side.median('p99Ms'))} ms`;
}

/** Describes the CPU time of a call, without processes that used very little. */
export function cpuOf({ cpuMs }: Rounds): string {
  const least = (max(Object.values(cpuMs)) ?? 0) / 100;
  const parts = Object.entries(cpuMs).filter(([, ms]) => ms > least);
  const total = sum(parts, ([, ms]) => ms);
  return `${total.toFixed(3)} ms a call (${parts.map(([name, ms]) => `${name} ${ms.toFixed(3)}`).join(', ')})`;
}

export function totalCpuMs({ cpuMs }: Rounds): number {
  return sum(Object.values(cpuMs));
}

/** Three digits are more than the accuracy of any measurement here. */
function digits(figure: number): string {
  return figure >= 100 ? figure.toFixed(0) : figure.toPrecision(3);
}
