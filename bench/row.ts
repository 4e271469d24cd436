import type { FigureName } from './figures.ts';

/** A measured figure and that of its baseline. */
export interface Row {
  /** Its name in the table of figures, if it belongs to it. */
  figure?: FigureName;
  what: string;
  ours: string;
  baseline: string;
  ratio: number;
  /** The lowest and the highest ratio of the rounds. */
  spread?: readonly [number, number];
  aim: string;
  /** CPU time of a call by process, of Souk and of the baseline. */
  cpu?: string;
  /** The load of other programs on the machine, if it was high. */
  busy?: string | null;
  /** Unexpected answers, on either side. */
  failures: number;
}

export function printRow({ what, ours, baseline, ratio, spread, aim, cpu, busy, failures }: Row): void {
  const range = spread ? ` (${spread.map((one) => one.toFixed(2)).join(' to ')})` : '';
  const lines: [string, string | null | undefined][] = [
    ['Souk', ours],
    ['baseline', baseline],
    ['ratio', `${ratio.toFixed(2)}${range}, aim: ${aim}`],
    ['CPU', cpu],
    ['failures', failures > 0 ? String(failures) : null],
    ['busy', busy],
  ];
  console.log(`\n${what}`);
  for (const [name, text] of lines) if (text) console.log(`  ${name.padEnd(9)} ${text}`);
}
