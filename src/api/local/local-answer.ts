import type { InputOf } from '../../operations/index.ts';
import type { Gateway } from '../gateway.ts';

/** Answers an operation on the spot. The key has been checked. */
export type LocalAnswer<Operation> = (
  gateway: Gateway,
  input: InputOf<Operation>,
  caller: { keyHash: Buffer; accountId: number },
) => Promise<{ message?: string; data: Record<string, unknown> }>;
