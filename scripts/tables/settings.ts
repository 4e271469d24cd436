import { describeSettings } from '../../src/config/config.ts';
import { describeLimits } from '../../src/config/limits.ts';

type Row = ReturnType<typeof describeSettings>[number];

/** Returns a Markdown table of all settings with their defaults. */
export const settingsTable = () => tableOf('Setting', describeSettings());

/** Returns a Markdown table of the keys of the setting LIMITS. */
export const limitsTable = () => tableOf('Limit', describeLimits());

function tableOf(kind: string, entries: readonly Row[]): string {
  const rows = entries.map(
    ({ name, fallback, meaning }) => `| \`${name}\` | ${fallback && `\`${fallback}\``} | ${meaning} |`,
  );
  return [`| ${kind} | Default | Meaning |`, '|---|---|---|', ...rows].join('\n');
}
