import { STATUS_CODES } from 'node:http';
import { ERROR_ADVICE } from '../../src/platform/error-advice.ts';
import { ERRORS, type ErrorKind } from '../../src/platform/errors.ts';

/** What happens to the units of a call: short, and as a sentence. */
const UNITS = {
  none: ['none reserved', 'No. The request is refused before units are reserved.'],
  released: ['released', 'No. The units that were reserved for the call are released.'],
} as const;

/** Kinds of errors by status, and within a status in the order of the list. */
const KINDS = (Object.keys(ERRORS) as ErrorKind[]).sort((a, b) => ERRORS[a].status - ERRORS[b].status);

/** Returns a Markdown table of all errors, by status. */
export function errorsTable(): string {
  const rows = KINDS.map((kind) => {
    const { status, code, text, units } = ERRORS[kind];
    return `| ${status} | [\`${code}\`](../guides/errors.md#${code.toLowerCase()}) | ${text} | ${UNITS[units][0]} |`;
  });
  return ['| Status | Code | Meaning | Units |', '|---|---|---|---|', ...rows].join('\n');
}

/** Returns a Markdown section for each error, by status. Its heading is the code. */
export function errorSections(): string {
  const statuses = [...new Set(KINDS.map((kind) => ERRORS[kind].status))];
  return statuses
    .flatMap((status) => [
      `## ${status} ${STATUS_CODES[status]}`,
      ...KINDS.filter((kind) => ERRORS[kind].status === status).map(section),
    ])
    .join('\n\n');
}

function section(kind: ErrorKind): string {
  const { code, text, units } = ERRORS[kind];
  const { cause, solution } = ERROR_ADVICE[kind];
  return [
    `### \`${code}\``,
    text,
    `- **Cause:** ${cause}\n- **Solution:** ${solution}\n- **Charged:** ${UNITS[units][1]}`,
  ].join('\n\n');
}
