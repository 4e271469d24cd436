import { SITES } from '../../operations/params/domain.ts';

/** What most parameters are about, in the order of a file name. */
const SUBJECTS = [
  'domain',
  'domainId',
  'country',
  'geo',
  'asin',
  'asins',
  'codes',
  'seller',
  'category',
  'wordId',
  'keyword',
  'term',
  'reportDate',
  'week',
];

const MOST_SUBJECTS = 4;
const MOST_CHARACTERS = 80;

/**
 * Returns the name of a file with what it holds, its site, and the day of the data, in ASCII:
 * `souk-history-us-B08N5WRWNX-2026-11-23.csv`.
 * @param now Unix milliseconds.
 */
export function fileNameOf(file: {
  table: string;
  parameters: unknown;
  format: string;
  now: number;
}): string {
  const { table, parameters, format, now } = file;
  const subjects = SUBJECTS.flatMap((subject): string[] => {
    const value = (parameters as Record<string, unknown> | null)?.[subject];
    if (subject.startsWith('domain'))
      return SITES[value as keyof typeof SITES] ? [SITES[value as keyof typeof SITES]] : [];
    if (typeof value === 'string' || typeof value === 'number') return [String(value)];
    return Array.isArray(value) ? value.slice(0, MOST_SUBJECTS).map(String) : [];
  });
  const text = subjects
    .slice(0, MOST_SUBJECTS)
    .join('-')
    .replace(/[^\w.-]+/g, '-')
    .slice(0, MOST_CHARACTERS);
  const name = ['souk', table, text, new Date(now).toISOString().slice(0, 10)].filter(Boolean).join('-');
  return `${name}.${format}`;
}
