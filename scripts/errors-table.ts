import { ERRORS } from '../src/platform/errors.ts';

const HEADER = ['| Status | Code | Meaning | Units |', '|---|---|---|---|'];

const UNITS = { none: 'none taken', refunded: 'given back' };

/** Every error there is as a row of a Markdown table, by status. */
export function errorsTable(): string {
  const rows = Object.values(ERRORS)
    .sort((a, b) => a.status - b.status)
    .map(({ status, code, text, units }) => `| ${status} | \`${code}\` | ${text} | ${UNITS[units]} |`);
  return [...HEADER, ...rows].join('\n');
}
