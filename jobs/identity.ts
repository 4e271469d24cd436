import { fingerprint } from '../src/fingerprint.ts';
import { type QueuedOperation, shownInput } from '../src/operations/define.ts';

/** What identifies an answer that may be shown to any account: all of the input that shows in it. */
export function presentationIdOf(operation: QueuedOperation, input: unknown): string {
  return fingerprint('presentation', operation.name, shownInput(operation, input));
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
