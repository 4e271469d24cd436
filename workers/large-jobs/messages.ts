import type { CompletionMessage } from '../../jobs/end-call.ts';
import type { CallEvent } from '../../src/platform/telemetry/call-events.ts';
import type { Attempt } from '../executor.ts';
import type { JobSettings } from '../live-jobs.ts';

/** The most connections of the thread to PostgreSQL. */
export const CONNECTIONS = { requests: 4, money: 2 };

/** The share of a pool's slots that paused jobs may have among the large jobs, and among the others. Together they have half of the slots. */
export const PAUSING_SHARE = 1 / 4;

/** The data with which the thread starts. */
export interface ThreadSetup extends JobSettings {
  logLevel: string;
  /** Where traces are sent, if anywhere. */
  tracesUrl?: string | undefined;
}

/** What a message can carry of an attempt. */
export type SentAttempt = Omit<Attempt, 'signal' | 'onProgress'>;

/** `id` is the number of the attempt within its thread. */
export type ToThread =
  | { kind: 'run'; id: number; attempt: SentAttempt }
  /** The process stops running a job. */
  | { kind: 'stop'; id: number; reason: string }
  | { kind: 'ping' }
  | { kind: 'close' };

export type FromThread =
  /** The thread is connected to the stores. */
  | { kind: 'ready' }
  | { kind: 'progress'; id: number; percent: number }
  | { kind: 'ended'; id: number; completion: CompletionMessage }
  /** @property awaitedMs how long the job has to wait for tokens, if that is the reason. */
  | { kind: 'failed'; id: number; error: Error; awaitedMs?: number }
  | { kind: 'event'; event: CallEvent }
  /** A store failed. */
  | { kind: 'fault'; store: 'postgresql' | 'cache'; outage: 'down' | 'slow' | null }
  | { kind: 'pong' };
