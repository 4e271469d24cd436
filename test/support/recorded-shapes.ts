import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';

export type Fields = Record<string, unknown>;

/** Recorded answers of the provider. They are not ours to keep here, so tests that need them are skipped without them. */
const FOLDER = resolve('../shared/fixtures/keepa');

/** Returns the recordings whose paths start like this, newest name last; none where there are no recordings. */
export function recordingsOf(start: string): { file: string; answer: Fields }[] {
  if (!existsSync(FOLDER)) return [];
  return readdirSync(FOLDER, { recursive: true, encoding: 'utf8' })
    .filter((file) => file.startsWith(start))
    .sort()
    .map((file) => ({ file, answer: JSON.parse(readFileSync(join(FOLDER, file), 'utf8')) as Fields }));
}

/** Returns the types of all values by their path; null says nothing about a type. */
export function kindsOf(records: readonly Fields[]): Map<string, Set<string>> {
  const kinds = new Map<string, Set<string>>();
  const add = (path: string, value: unknown) => {
    if (value === null || value === undefined) return;
    const kind = Array.isArray(value) ? 'list' : typeof value;
    kinds.set(path, (kinds.get(path) ?? new Set()).add(kind));
    if (Array.isArray(value)) for (const entry of value.slice(0, 500)) add(`${path}[]`, entry);
    else if (typeof value === 'object')
      // The names of these records are ids.
      for (const [name, entry] of Object.entries(value))
        add(/salesRanks$|Stats$/.test(path) && path !== 'stats' ? `${path}.*` : `${path}.${name}`, entry);
  };
  for (const record of records) for (const [name, value] of Object.entries(record)) add(name, value);
  return kinds;
}

/** Returns the paths at which generated records have a type that no recorded one has there. */
export function strangeKinds(generated: readonly Fields[], recorded: readonly Fields[]): string[] {
  const known = kindsOf(recorded);
  return [...kindsOf(generated)].flatMap(([path, kinds]) => {
    const usual = known.get(path);
    return usual ? [...kinds].filter((kind) => !usual.has(kind)).map((kind) => `${path}: ${kind}`) : [];
  });
}
