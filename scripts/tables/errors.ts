import { ERRORS } from '../../src/platform/errors.ts';

/** What happens to the units of a call. */
const UNITS = { none: 'none reserved', released: 'released' } as const;

/** Returns a Markdown table of all errors, by status. */
export function errorsTable(): string {
  const rows = Object.values(ERRORS).map(
    ({ status, code, text, units }) =>
      `| ${status} | [\`${code}\`](../guides/errors.md#${code.toLowerCase()}) | ${text} | ${UNITS[units]} |`,
  );
  return ['| Status | Code | Meaning | Units |', '|---|---|---|---|', ...rows].join('\n');
}
