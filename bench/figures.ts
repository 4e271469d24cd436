import { readFile, writeFile } from 'node:fs/promises';
import { availableParallelism } from 'node:os';
import type { Row } from './row.ts';

/** The lines of the table of figures, in its order. A line may have several rows. */
const FIGURES = [
  'cached-booked',
  'cached-transaction',
  'cached-bare',
  'uncached-added',
  'uncached-instant',
  'body',
  'large-list',
  'history',
  'batch',
  'screen',
  'pages',
  'export',
] as const;

export type FigureName = (typeof FIGURES)[number];

/** What was measured for one line, and where. */
interface Figure {
  /** UTC */
  day: string;
  version: string;
  node: string;
  processors: number;
  rows: Row[];
}

type Recorded = Partial<Record<FigureName, Figure>>;

const DATA = 'docs/operating/speed.json';
const PAGE = 'docs/operating/speed.md';
const [BEGIN, END] = ['<!-- figures -->', '<!-- end of figures -->'];

/** Enters rows in the table of figures in the documents. Lines that were not measured keep their earlier figures. */
export async function recordFigures(rows: readonly Row[], now: Date): Promise<void> {
  const recorded = JSON.parse(await readFile(DATA, 'utf8')) as Recorded;
  const { version } = JSON.parse(await readFile('package.json', 'utf8')) as { version: string };
  const machine = { node: process.version, processors: availableParallelism() };
  for (const name of FIGURES) {
    const found = rows.filter(({ figure }) => figure === name);
    if (found.length > 0)
      recorded[name] = { day: now.toISOString().slice(0, 10), version, ...machine, rows: found };
  }
  await writeFile(DATA, `${JSON.stringify(recorded, null, 2)}\n`);
  const page = await readFile(PAGE, 'utf8');
  const [before = ''] = page.split(BEGIN);
  const after = page.split(END)[1] ?? '';
  await writeFile(PAGE, `${before}${BEGIN}\n\n${tableOf(recorded)}\n\n${END}${after}`);
}

function tableOf(recorded: Recorded): string {
  const lines = FIGURES.flatMap((name) => {
    const figure = recorded[name];
    if (!figure) return [];
    const { day, version, node, processors } = figure;
    const measured = `${day}, ${version}, Node ${node.slice(1)}, ${processors} processors`;
    return figure.rows.map((row) => [
      row.what,
      `**${row.ratio.toFixed(2)}**${row.spread ? ` (${row.spread.map((one) => one.toFixed(2)).join(' to ')})` : ''}`,
      row.aim,
      row.ours,
      row.baseline,
      row.cpu ?? '',
      row.busy ?? 'nothing',
      `${measured}${row.failures > 0 ? `, ${row.failures} failures` : ''}`,
    ]);
  });
  const head = ['What', 'Ratio', 'Aim', 'Souk', 'Baseline', 'Processor time', 'Ran beside', 'Measured'];
  return [head, head.map(() => '---'), ...lines].map((cells) => `| ${cells.join(' | ')} |`).join('\n');
}
