import { readdir, readFile } from 'node:fs/promises';

/** What a release wrote, and what it reads: recorded once from its own code by `npm run record-release`. */
export interface Release {
  /** `version+commit`. */
  name: string;
  /** The last migration of the release. */
  migration: string;
  /** Unix milliseconds of the clock at the end of the recording. */
  at: number;
  /** The SQL functions that the release calls, with what they return. */
  functions: { signature: string; result: string }[];
  /** Its tables and composite types. */
  relations: { name: string; columns: Column[] }[];
  /** What the release reads, as JSON schemas. */
  reads: Record<Message, object>;
  /** What was published, in order. */
  messages: Published[];
  redis: StoredKey[];
  tables: StoredTable[];
  /** The last value of each sequence. */
  sequences: Record<string, number>;
  /** The customers of the recording, and what they had asked for. */
  scenario: Scenario;
}

/** The kinds of messages between processes. */
export type Message = 'payload' | 'batchJob' | 'completion' | 'control' | 'flight';

export interface Column {
  name: string;
  type: string;
  /** A row cannot be written without it. */
  needed: boolean;
}

/** A message; the namespace in its channel is replaced by `NAMESPACE`. */
export interface Published {
  channel: string;
  text: string;
}

/** A Redis key, with bytes in base64. The namespace in its name is replaced by `NAMESPACE`. */
export interface StoredKey {
  key: string;
  type: 'string' | 'list' | 'hash' | 'zset' | 'set';
  /** A string, the items of a list or set, the fields of a hash with their values, or the members of a sorted set with their scores. */
  values: string[];
  /** Milliseconds; null: it does not expire. */
  expiresInMs: number | null;
}

export interface StoredTable {
  name: string;
  rows: Record<string, unknown>[];
}

export interface Scenario {
  /** Its calls and its schedule and tracker. */
  key: string;
  /** May start one call a minute, so that its batch is not finished. */
  slowKey: string;
  /** The path of a call that was answered. */
  answered: string;
  /** The jobs that were polled, failed, and not yet run. */
  jobs: { answered: string; failed: string; queued: string };
  batchId: string;
  scheduleId: string;
  trackerId: string;
  /** Name of the schedule whose upload no worker has read. */
  uploaded: string;
}

/** Stands for the namespace in recorded keys and channels. */
export const NAMESPACE = 'NAMESPACE';

const FOLDER = 'test/releases/recorded';

/** Returns the recorded releases. Those that need not run beside the present one any more are deleted. */
export async function recordedReleases(): Promise<Release[]> {
  const files = (await readdir(FOLDER)).filter((name) => name.endsWith('.json')).sort();
  return Promise.all(
    files.map(async (name) => JSON.parse(await readFile(`${FOLDER}/${name}`, 'utf8')) as Release),
  );
}

export const recordingPath = ({ name }: Release) => `${FOLDER}/${name}.json`;
