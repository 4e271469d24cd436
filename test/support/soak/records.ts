import { appendFileSync, existsSync, readFileSync } from 'node:fs';

/** Results of runs, from which `npm run generate` makes the tables of docs/operating/reliability.md. */
export const RECORDS = 'test/support/soak/records.jsonl';

export interface RunRecord {
  kind: 'run';
  day: string;
  /** Such as `one machine` or `cluster`. */
  form: string;
  seed: number;
  /** null: the run lasted for a number of calls. */
  seconds: number | null;
  requests: number;
  charged: number;
  strikes: number;
  faults: number;
}

export interface PlantedRecord {
  kind: 'planted';
  day: string;
  defect: string;
  /** The number of seeds until it was found, or that were tried. */
  seeds: number;
  /** The rule that found it; null: none did. */
  rule: string | null;
}

export type SoakRecord = RunRecord | PlantedRecord;

export function record(entry: SoakRecord, file = RECORDS): void {
  appendFileSync(file, `${JSON.stringify(entry)}\n`);
}

export function readRecords(file = RECORDS): SoakRecord[] {
  if (!existsSync(file)) return [];
  const lines = readFileSync(file, 'utf8').split('\n');
  return lines.filter((line) => line !== '').map((line) => JSON.parse(line) as SoakRecord);
}

export const today = () => new Date().toISOString().slice(0, 10);
