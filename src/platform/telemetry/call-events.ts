import type { ErrorKind } from '../errors.ts';
import type { Logger } from '../log.ts';

interface OfCall {
  operation: string;
  accountId: number;
  callId: string;
}

interface OfJob extends OfCall {
  pool: string;
}

export interface OfSource {
  operation: string;
  accountId: number;
  callId: string;
}

/**
 * The events of calls, each emitted once. Metrics, usage statistics, the failure log and the use of keys are sinks of
 * these events, and so is the spy of tests, which wait for events. Spans are separate, because they have a duration; see
 * `traced`.
 */
export type CallEvent =
  /** A key was accepted, for a call or for a free request. */
  | { type: 'key.accepted'; keyHash: Buffer }
  /** Admission refused a call because of its key or a quota. */
  | { type: 'call.refused'; operation: string; error: ErrorKind }
  /** A call was started: its units are reserved. */
  | ({ type: 'call.started' } & OfCall)
  /** A call was answered from the cache: its units are charged. */
  | ({ type: 'call.cached'; units: number } & OfCall)
  /** A call joined an identical call of the account, which is in progress or recent; `callId` is that call's. */
  | ({ type: 'call.joined' } & OfCall)
  | ({ type: 'call.queued' } & OfJob)
  /** A request started to wait for the end of a call. */
  | { type: 'call.awaited'; accountId: number; callId: string }
  | ({ type: 'call.settled'; units: number } & OfCall)
  | ({ type: 'call.released'; error: ErrorKind } & OfCall)
  /** A settled call was refunded, because its answer was lost and could not be made again. */
  | ({ type: 'call.refunded'; units: number; error: ErrorKind } & OfCall)
  /** @property tokens cost of the answer upstream. */
  | { type: 'answer.hit'; operation: string; accountId: number; tokens: number }
  | { type: 'answer.miss'; operation: string; accountId: number }
  /** @property waitedMs time in the queue for the first attempt; null for later ones. */
  | ({ type: 'job.started'; attempt: number; waitedMs: number | null } & OfJob)
  /** A background job was paused until tokens are available. */
  | ({ type: 'job.paused' } & OfJob)
  /** A running job was cancelled: it sends nothing more. */
  | ({ type: 'job.cancelled' } & OfJob)
  | ({
      type: 'job.ended';
      state: 'settled' | 'released';
      error: ErrorKind | null;
      durationMs: number;
    } & OfJob)
  /** A source was in the cache, or came from the flight of another call. @property tokens its cost upstream. */
  | ({ type: 'source.hit'; tokens: number } & OfSource)
  /** A source was fetched. */
  | ({ type: 'source.miss' } & OfSource)
  /** The call became a follower: another call fetches the source. */
  | ({ type: 'source.followed'; identity: string } & OfSource)
  /** Upstream charged tokens. */
  | ({ type: 'tokens.spent'; tokens: number } & OfSource)
  /** A request was answered with an error. */
  | { type: 'request.refused'; error: ErrorKind }
  /** Something failed on our side or upstream; the customer receives an id and not the cause. */
  | ({ type: 'failure' } & Failure);

export interface Failure {
  code: string;
  /** The route or the operation. */
  place: string;
  errorId?: string | undefined;
  requestId?: string | undefined;
  callId?: string | undefined;
  accountId?: number | undefined;
  cause: unknown;
}

export interface CallEvents {
  emit(event: CallEvent): void;
}

/** Receives all events. It must return at once. */
export type CallEventSink = (event: CallEvent) => void;

/** Passes each event to each sink. Errors of a sink are logged and do not affect the call or other sinks. */
export function createCallEvents(log: Logger, sinks: readonly CallEventSink[]): CallEvents {
  return {
    emit(event) {
      for (const sink of sinks) {
        try {
          sink(event);
        } catch (error) {
          log.error({ err: error, event: event.type }, 'failed to observe a call event');
        }
      }
    },
  };
}

/** A sink that writes its data to the database every few seconds. */
export interface StoringSink {
  onEvent: CallEventSink;
  /** Writes the data that has not been written yet. */
  close(): Promise<void>;
}
