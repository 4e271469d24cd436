import { createReadStream, createWriteStream } from 'node:fs';
import { finished, pipeline } from 'node:stream/promises';
import { from as copyFrom } from 'pg-copy-streams';
import type { Database } from '../../../src/platform/db/pool.ts';

/** The answer that a client received for one request. */
export interface Observation {
  /** A call, or what follows it: a poll of its job while processes are killed, a cancellation, the result at the end. */
  kind: 'call' | 'poll' | 'cancel' | 'result';
  accountId: number;
  path: string;
  /** Equal for calls that the service treats as identical. */
  chargeId: string;
  /** Unix milliseconds. */
  sentAt: number;
  endedAt: number;
  /**
   * answered: with the data. accepted: with a job. refused: before any unit was reserved. failed: with an error after
   * units were reserved. unheard: the connection broke, or the client disconnected.
   */
  outcome: 'answered' | 'accepted' | 'refused' | 'failed' | 'unheard';
  /** HTTP status and code, or the reason why there was no answer. */
  said: string;
  jobId: string | null;
  units: number;
}

/** All observations of a run, in a file, so that a run of a million calls needs no more memory than a short one. */
export interface ObservationLog {
  readonly count: number;
  note(observation: Observation): void;
  /** Stores everything that was noted since the last time in the table `soak_observations`. */
  store(database: Database): Promise<void>;
}

export const OBSERVATIONS = `
  create table if not exists soak_observations (
    kind text not null, account_id bigint not null, path text not null, charge_id text not null,
    sent_at timestamptz not null, ended_at timestamptz not null, outcome text not null, said text not null,
    job_id uuid, units integer not null);
  create index if not exists soak_observations_job on soak_observations (account_id, job_id);
  create index if not exists soak_observations_claim on soak_observations (account_id, charge_id)`;

/** @param file a path without a file. */
export function openObservationLog(file: string): ObservationLog {
  let part = 0;
  let count = 0;
  const next = () => {
    part += 1;
    return createWriteStream(`${file}.${part}`);
  };
  let stream = next();
  return {
    get count() {
      return count;
    },
    note(observation) {
      count += 1;
      stream.write(lineOf(observation));
    },
    async store(database) {
      const full = stream;
      stream = next();
      full.end();
      await finished(full);
      await database.query(OBSERVATIONS);
      const client = await database.connect();
      try {
        await pipeline(
          createReadStream(full.path),
          client.query(copyFrom('copy soak_observations from stdin')),
        );
        await client.query('analyze soak_observations');
      } finally {
        client.release();
      }
    },
  };
}

/** The text format of COPY. Paths and answers have no tabs, line feeds or backslashes. */
function lineOf({ kind, accountId, path, chargeId, outcome, said, jobId, units, ...times }: Observation) {
  const at = (ms: number) => new Date(ms).toISOString();
  const fields = [kind, accountId, path, chargeId, at(times.sentAt), at(times.endedAt), outcome, said];
  return `${[...fields, jobId ?? '\\N', units].join('\t')}\n`;
}
