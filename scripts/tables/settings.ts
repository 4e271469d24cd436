import { describeSettings } from '../../src/config/config.ts';

/** Returns a Markdown table of all settings with their defaults. */
export function settingsTable(): string {
  const rows = describeSettings().map(
    ({ name, fallback, meaning }) => `| \`${name}\` | ${fallback && `\`${fallback}\``} | ${meaning} |`,
  );
  return ['| Setting | Default | Meaning |', '|---|---|---|', ...rows].join('\n');
}
