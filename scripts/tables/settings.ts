import { describeSettings } from '../../src/config/config.ts';

/** Every setting with its default, as a Markdown table. */
export function settingsTable(): string {
  const rows = describeSettings().map(
    ({ name, fallback, meaning }) => `| \`${name}\` | ${fallback && `\`${fallback}\``} | ${meaning} |`,
  );
  return ['| Setting | Default | Meaning |', '|---|---|---|', ...rows].join('\n');
}
