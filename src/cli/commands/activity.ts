import type { Command } from 'commander';
import { readConfig } from '../../config/config.ts';
import { ACTIVITY_RANGES, activityFields } from '../../operator/activity/activity.ts';
import { readActivity } from '../../operator/activity/read-activity.ts';
import { type Context, type Given, onDatabase, type Report, readInput, table } from '../terminal.ts';

export function registerActivity(program: Command): void {
  onDatabase(
    program
      .command('activity')
      .description('shows revenue, customers, conversion, churn, use, errors, run times and queues')
      .option('--range <R>', `range: ${Object.keys(ACTIVITY_RANGES).join(', ')}`, '30d'),
    showActivity,
  );
}

async function showActivity({ database, env, now }: Context, given: Given): Promise<Report> {
  const { PAYMENT_CURRENCY: currency } = readConfig(env);
  const { range } = readInput(activityFields, given);
  const report = await readActivity(database, range, { currency, now });
  const rows = report.charts.flatMap(({ title, unit, series }) =>
    series.map(({ name, total, since }) => [title, name, rounded(total), unit, since]),
  );
  return {
    data: report,
    text: [
      `${report.from} to ${report.to}. --json has all figures by ${report.step}.`,
      table(['Chart', 'Figure', 'Total', 'Unit', 'Since'], rows),
    ].join('\n\n'),
  };
}

const rounded = (value: number | null) => (value === null ? null : Math.round(value * 100) / 100);
