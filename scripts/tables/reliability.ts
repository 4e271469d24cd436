import { DEFECTS } from '../../test/support/soak/planted/defects.ts';
import { type PlantedRecord, type RunRecord, readRecords } from '../../test/support/soak/records.ts';

const whole = (value: number) => value.toLocaleString('en');

/** Every recorded run, and the sums of each form. */
export function soakRunsTable(): string {
  const runs = readRecords().filter((one): one is RunRecord => one.kind === 'run');
  if (runs.length === 0) return 'No run has been recorded.';
  const rows = runs.map(({ day, form, seed, seconds, requests, charged, strikes, faults }) => {
    const length = seconds === null ? 'calls' : `${seconds} s`;
    return [day, form, seed, length, whole(requests), whole(charged), strikes, faults];
  });
  const sums = [...new Set(runs.map(({ form }) => form))].map((form) => {
    const same = runs.filter((one) => one.form === form);
    const sum = (field: 'requests' | 'charged' | 'strikes' | 'faults') =>
      whole(same.reduce((total, one) => total + one[field], 0));
    const seeds = new Set(same.map(({ seed }) => seed)).size;
    return [
      '',
      `**${form}**`,
      `**${seeds} ${seeds === 1 ? 'seed' : 'seeds'}**`,
      '',
      sum('requests'),
      sum('charged'),
      sum('strikes'),
      sum('faults'),
    ];
  });
  const head = ['Day', 'Form', 'Seed', 'Length', 'Requests', 'Charged calls', 'Strikes', 'Broken promises'];
  return table(head, [...rows, ...sums]);
}

/** Every planted defect, with its last result. */
export function plantedTable(): string {
  const results = new Map(
    readRecords()
      .filter((one): one is PlantedRecord => one.kind === 'planted')
      .map((one) => [one.defect, one]),
  );
  const rows = DEFECTS.map(({ name, what }) => {
    const result = results.get(name);
    if (!result) return [`\`${name}\``, what, 'not run yet', ''];
    const { seeds, rule } = result;
    return [`\`${name}\``, what, rule === null ? `not in ${seeds} seeds` : `at seed ${seeds}`, rule ?? ''];
  });
  return table(['Defect', 'What it does', 'Found', 'By the rule'], rows);
}

function table(head: readonly string[], rows: readonly (readonly (string | number)[])[]): string {
  const line = (cells: readonly (string | number)[]) => `| ${cells.join(' | ')} |`;
  return [line(head), line(head.map(() => '---')), ...rows.map(line)].join('\n');
}
