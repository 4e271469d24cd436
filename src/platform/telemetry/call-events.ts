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

interface OfSource {
  operation: string;
  callId: string;
}

/**
 * What happens to calls, emitted once, where it happens. Metrics, usage statistics, the failure log and the use of keys are
 * sinks of these events, and so is the spy of a test, which waits for an event instead of a time. Spans are not: they have
 * a beginning and an end, see `traced`.
 */
export type CallEvent =
  /** A key was accepted, for a call or for a free request. */
  | { type: 'key.accepted'; keyHash: Buffer }
  /** Admission refused a call: key or quota. */
  | { type: 'call.refused'; operation: string; error: ErrorKind }
  /** Units are reserved. */
  | ({ type: 'call.started' } & OfCall)
  /** Units are charged: a cached answer is there. */
  | ({ type: 'call.cached'; units: number } & OfCall)
  /** The same call of the account is under way or was answered a moment ago; `callId` is that call's. */
  | ({ type: 'call.joined' } & OfCall)
  | ({ type: 'call.queued' } & OfJob)
  /** A request waits for the end of a call. */
  | { type: 'call.awaited'; accountId: number; callId: string }
  | ({ type: 'call.settled'; units: number } & OfCall)
  | ({ type: 'call.released'; error: ErrorKind } & OfCall)
  /** @property tokens what the answer had cost upstream. */
  | { type: 'answer.hit'; operation: string; tokens: number }
  | { type: 'answer.miss'; operation: string }
  /** @property waitedMs how long it was queued, at its first attempt; null at later ones. */
  | ({ type: 'job.started'; attempt: number; waitedMs: number | null } & OfJob)
  /** A background job waits for tokens. */
  | ({ type: 'job.paused' } & OfJob)
  | ({
      type: 'job.ended';
      state: 'settled' | 'released';
      error: ErrorKind | null;
      durationMs: number;
    } & OfJob)
  /** A source was in the cache, or came with the flight of another call. @property tokens what it had cost upstream. */
  | ({ type: 'source.hit'; tokens: number } & OfSource)
  /** A source was fetched. */
  | ({ type: 'source.miss' } & OfSource)
  /** The call waits for another one that fetches the source. */
  | ({ type: 'source.followed'; identity: string } & OfSource)
  /** Upstream took tokens. */
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

/** Takes note of the events it wants. It must return at once. */
export type CallEventSink = (event: CallEvent) => void;

/** Passes each event to each sink. A sink that throws is logged, and neither the call nor other sinks notice. */
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

/** A sink that writes what it has seen to the database every few seconds. */
export interface StoringSink {
  onEvent: CallEventSink;
  /** Writes the rest. */
  close(): Promise<void>;
}
