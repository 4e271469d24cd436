import type { FastifyRequest } from 'fastify';
import { LRUCache } from 'lru-cache';

/**
 * Keeps the canonical inputs of GET requests, so that an address that was requested before is parsed once. An input depends on the
 * address alone, and on the day for some operations; a refused request is never kept.
 */
export interface ParsedRequests {
  /**
   * Returns the input of a request. An input that requests share is frozen.
   * @param day of inputs that depend on it. @param parse is called for an address that is not kept.
   */
  input(request: FastifyRequest, day: string, parse: () => unknown): unknown;
}

/** Limits of memory. Longer addresses are parsed each time. */
const MAX_BYTES = 16 * 2 ** 20;
const LONGEST_ADDRESS = 4_096;
const MAX_SEEN = 4_096;

/**
 * At least the size of an input with its address and identities: measured are 1,048 bytes for a product (45 characters), 1,668 with
 * options (122), 1,375 for ten products (144) and 5,938 for a hundred (1,134).
 */
const ENTRY_BYTES = 1_024;
const BYTES_PER_CHARACTER = 5;

export function createParsedRequests(): ParsedRequests {
  const inputs = new LRUCache<string, object>({
    maxSize: MAX_BYTES,
    sizeCalculation: (_input, address) => ENTRY_BYTES + BYTES_PER_CHARACTER * address.length,
  });
  // An input is kept when its address is repeated, so that addresses that come once displace no others.
  const seen = new Set<string>();

  return {
    input(request, day, parse) {
      const address = addressOf(request);
      if (address === null) return parse();
      const id = day === '' ? address : `${address} ${day}`;
      const known = inputs.get(id);
      if (known) return known;
      const input = parse();
      if (seen.delete(id)) inputs.set(id, frozen(input as object));
      else {
        if (seen.size >= MAX_SEEN) seen.clear();
        seen.add(id);
      }
      return input;
    },
  };
}

/** Returns what identifies the input of a request; null if it is parsed each time. */
function addressOf({ method, url, query }: FastifyRequest): string | null {
  if (method !== 'GET' || url.length > LONGEST_ADDRESS) return null;
  const { key, webhook } = query as Record<string, unknown>;
  // Keys and addresses of webhooks are secret, so they are not kept in memory.
  return key === undefined && webhook === undefined ? url : null;
}

function frozen<Value extends object>(value: Value): Value {
  for (const part of Object.values(value)) if (typeof part === 'object' && part !== null) frozen(part);
  return Object.freeze(value);
}
