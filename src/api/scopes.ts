import {
  isInScope,
  type KeyScopes,
  OPERATION_SCOPES,
  requireScope,
  SCOPES,
  type Scope,
  scopeNamed,
} from '../accounts/scopes.ts';
import type { Operation } from '../operations/define.ts';
import { QUEUED, queuedOperation } from '../operations/index.ts';
import type { EndpointDescription } from './endpoints/endpoint.ts';

/** A key that may make calls may follow them up by the ids of their jobs; `requireUse` compares the operation. */
export const OWN_JOB_SCOPES: readonly Scope[] = ['read', ...OPERATION_SCOPES];

/** Returns the scopes of which a key needs one for an operation. Every key may read its quota. */
export function scopesOfOperation({ kind, toolset }: Pick<Operation, 'kind' | 'toolset'>): readonly Scope[] {
  if (toolset === 'account') return [];
  return kind === 'queued' ? [scopeNamed(toolset)] : ['read', scopeNamed(toolset)];
}

/** Returns the scopes of which a key needs one for an endpoint: that of its group, or `read` if it only reads. */
export function scopesOfEndpoint({
  tag,
  method,
  scopes,
}: Pick<EndpointDescription, 'tag' | 'method' | 'scopes'>): readonly Scope[] {
  if (scopes) return scopes;
  const own = SCOPES.filter((scope) => scope === tag);
  return method === 'get' ? ['read', ...own] : own;
}

interface WithScopes {
  scopes: KeyScopes;
}

/**
 * Requires that a key may use a job, batch, schedule or tracker of an operation: to read it, the scope of the operation or `read`;
 * to cancel, retry, change, run or delete it, the scope of the operation.
 * @throws SoukError KEY_SCOPE_MISSING.
 */
export function requireUse({ scopes }: WithScopes, operation: string, use: 'read' | 'change'): void {
  const found = queuedOperation(operation);
  const own = found ? [scopeNamed(found.toolset)] : [];
  requireScope(scopes, use === 'read' ? ['read', ...own] : own);
}

/** Returns the operations whose batches, schedules and trackers a key may read; null: all. */
export function readableOperations({ scopes }: WithScopes): readonly string[] | null {
  if (isInScope(scopes, ['read'])) return null;
  return QUEUED.filter(({ toolset }) => isInScope(scopes, [scopeNamed(toolset)])).map(({ name }) => name);
}
