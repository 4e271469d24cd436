import { type QueuedOperation, shownInput } from '../src/operations/define.ts';
import { fingerprint } from '../src/platform/fingerprint.ts';

/**
 * What identifies an answer that may be shown to any account: all of the input that shows in it, and the edition of the
 * reports it is made from, where there are such.
 */
export function presentationIdOf(
  operation: QueuedOperation,
  input: unknown,
  edition: string | null = null,
): string {
  const parts = ['presentation', operation.name, shownInput(operation, input)];
  return fingerprint(...parts, ...(edition === null ? [] : [edition]));
}

/** What identifies a call among those of its account: what it shows, and how fresh it must be. */
export function chargeIdOf(
  operation: QueuedOperation,
  input: unknown,
  presentationId = presentationIdOf(operation, input),
): string {
  const freshness = operation.freshness && (input as Record<string, unknown>)[operation.freshness];
  return fingerprint('charge', presentationId, freshness ?? null);
}
