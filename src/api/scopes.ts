import { OPERATION_SCOPES, SCOPES, type Scope, scopeNamed } from '../accounts/scopes.ts';
import type { Operation } from '../operations/define.ts';
import type { EndpointDescription } from './endpoints/endpoint.ts';

/** A key that may make calls may follow them up by the ids of their jobs. */
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
