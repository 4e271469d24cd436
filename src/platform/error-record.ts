import { z } from 'zod';
import { type ErrorKind, isErrorKind, SoukError } from './errors.ts';

/** The form in which a worker sends an error to waiting requests, and in which it is stored with the call. */
export interface ErrorRecord {
  kind: ErrorKind;
  message: string;
  metadata?: Record<string, unknown>;
  retryAfterSeconds?: number;
}

/** Reads a record of any version of the service: an error that this one does not know is an internal one. */
export const errorRecordSchema: z.ZodType<ErrorRecord> = z.object({
  kind: z.string().transform((kind) => (isErrorKind(kind) ? kind : 'INTERNAL')),
  message: z.string(),
  metadata: z.record(z.string(), z.unknown()).exactOptional(),
  retryAfterSeconds: z.number().exactOptional(),
});

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
