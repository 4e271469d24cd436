import { z } from 'zod';
import { ERRORS, type ErrorKind, isErrorKind } from './error-list.ts';

export { ERRORS, type ErrorKind };

/** The calls that an account may make per minute, and those left in this minute. */
export interface CallRate {
  limit: number;
  remaining: number;
  resetSeconds: number;
}

interface ErrorDetails {
  /** Public text. Default: the text in the list. */
  message?: string;
  /** Public; part of the envelope. */
  metadata?: Record<string, unknown>;
  retryAfterSeconds?: number;
  /** The calls of the current minute, for refusals that follow from a quota. */
  rate?: CallRate;
  /** For the log only. */
  cause?: unknown;
}

/** An error of the list. Its message is public; internal details belong in `cause`. */
export class SoukError extends Error {
  readonly kind: ErrorKind;
  readonly metadata: Record<string, unknown> | undefined;
  readonly retryAfterSeconds: number | undefined;
  readonly rate: CallRate | undefined;

  constructor(kind: ErrorKind, details: ErrorDetails = {}) {
    super(details.message ?? ERRORS[kind].text, details.cause === undefined ? {} : { cause: details.cause });
    this.kind = kind;
    this.metadata = details.metadata;
    this.retryAfterSeconds = details.retryAfterSeconds;
    this.rate = details.rate;
  }
}

/** A problem with one parameter, as a public text. */
export interface ParameterFault {
  parameter: string;
  problem: string;
}

/** Creates a 400 that lists every invalid parameter. */
export function invalidParameters(
  faults: readonly ParameterFault[],
  kind: 'VALIDATION_FAILED' | 'SELECTION_INVALID' = 'VALIDATION_FAILED',
): SoukError {
  return new SoukError(kind, {
    message: faults.map(({ parameter, problem }) => `${parameter}: ${problem}`).join('; '),
    metadata: { errors: faults },
  });
}

/** Reads a record of any version of the service: an error that this one does not know is an internal one. */
export const errorRecordSchema = z.object({
  kind: z.string().transform((kind): ErrorKind => (isErrorKind(kind) ? kind : 'INTERNAL')),
  message: z.string(),
  metadata: z.record(z.string(), z.unknown()).exactOptional(),
  retryAfterSeconds: z.number().exactOptional(),
});

/** The form in which a worker sends an error to waiting requests, and in which it is stored with the call. */
export type ErrorRecord = z.output<typeof errorRecordSchema>;

export function toRecord(error: SoukError): ErrorRecord {
  return {
    kind: error.kind,
    message: error.message,
    ...(error.metadata ? { metadata: error.metadata } : {}),
    ...(error.retryAfterSeconds === undefined ? {} : { retryAfterSeconds: error.retryAfterSeconds }),
  };
}

export function fromRecord({ kind, ...details }: ErrorRecord): SoukError {
  return new SoukError(isErrorKind(kind) ? kind : 'INTERNAL', details);
}
