import type { AnswerMeta } from './answer.ts';

/** Jobs that are remembered, so that a client that runs for years does not grow. */
const MOST_JOBS = 10_000;

/** The units that the calls of a client have cost. */
export class Units {
  /** The sum so far. Calls of batches and schedules are not part of it: see `units.charged` of a batch. */
  spent = 0;
  /** Jobs that this client has started and whose units are not known yet. */
  readonly #open = new Set<string>();
  readonly #counted = new Set<string>();

  /** Adds the units of a call that was answered immediately. */
  add({ jobId, units }: AnswerMeta): void {
    this.spent += units;
    if (jobId && units > 0) remember(this.#counted, jobId);
  }

  /** Remembers a job that this client has started. */
  open({ jobId }: AnswerMeta): void {
    if (jobId && !this.#counted.has(jobId)) remember(this.#open, jobId);
  }

  /** Adds the units of a job that has ended, if this client has started it and has not added them yet. */
  end(jobId: string, units: number): void {
    if (!this.#open.delete(jobId)) return;
    this.spent += units;
    remember(this.#counted, jobId);
  }

  /** Whether the units of a job were added. */
  isCounted(jobId: string): boolean {
    return this.#counted.has(jobId);
  }
}

function remember(jobs: Set<string>, jobId: string): void {
  jobs.add(jobId);
  const [oldest] = jobs;
  if (jobs.size > MOST_JOBS && oldest !== undefined) jobs.delete(oldest);
}
