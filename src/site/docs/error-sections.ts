import { STATUS_CODES } from 'node:http';
import { ERRORS, type ErrorKind } from '../../platform/errors.ts';
import { ERROR_ADVICE } from './error-advice.ts';

const CHARGED = {
  none: 'No. It is refused before any units are taken.',
  refunded: 'No. The units that were reserved for the call are given back.',
};

/** Every error there is as a section of Markdown whose heading is its code, by status. */
export function errorSections(): string {
  const kinds = Object.keys(ERRORS) as ErrorKind[];
  const statuses = [...new Set(kinds.map((kind) => ERRORS[kind].status))].sort((a, b) => a - b);
  return statuses
    .flatMap((status) => [
      `## ${status} ${STATUS_CODES[status]}`,
      ...kinds.filter((kind) => ERRORS[kind].status === status).map(section),
    ])
    .join('\n\n');
}

function section(kind: ErrorKind): string {
  const { code, text, units } = ERRORS[kind];
  const { cause, cure } = ERROR_ADVICE[kind];
  return [
    `### \`${code}\``,
    text,
    `- **Cause:** ${cause}\n- **Cure:** ${cure}\n- **Charged:** ${CHARGED[units]}`,
  ].join('\n\n');
}
