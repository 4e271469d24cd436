import { createHash } from 'node:crypto';
import { fingerprint } from '../platform/fingerprint.ts';
import type { BatchRequest } from './request.ts';

const ITEMS_BETWEEN_YIELDS = 200;

/**
 * Identifies what a request asks for: the hash is the same for other names and another order of its parameters, for defaults
 * that are given, and for lines instead of a document. Without an idempotency key, it does not depend on the items.
 * @param yieldToEvents called every few hundred items, so that the process can do other work.
 */
export async function hashOf(
  { operation, settings, items }: BatchRequest,
  yieldToEvents: () => Promise<void>,
): Promise<Buffer> {
  const hash = createHash('sha256').update(fingerprint(operation.name, settings));
  if (settings.idempotencyKey === null) return hash.digest();
  for (const [index, { input }] of items.entries()) {
    hash.update(fingerprint(input));
    if (index % ITEMS_BETWEEN_YIELDS === 0) await yieldToEvents();
  }
  return hash.digest();
}
