import { OPERATION_SCOPES, type Scope } from '../../accounts/key-settings.ts';
import { MCP_PATH } from '../mcp/mount.ts';

/** The scopes that a refusal names to clients: reading, and calls. A call that needs another one names it. */
export const BASE_SCOPES: readonly Scope[] = ['read', ...OPERATION_SCOPES];

const LOOPBACK = /^(?:localhost|127\.0\.0\.1|\[::1\])$/;

/** Returns whether an address leads to the machine of the person who opens it. */
export function isLoopback({ hostname }: URL): boolean {
  return LOOPBACK.test(hostname);
}

/**
 * Returns whether a resource indicator (RFC 8707) names this service: its address, or that of its tools, with or without a slash
 * at the end. A service on a loopback address has all names of that address.
 */
export function isOwnResource(indicator: string, issuer: string): boolean {
  if (!URL.canParse(indicator)) return false;
  const [given, own] = [new URL(indicator), new URL(issuer)];
  const isSameHost =
    given.host === own.host || (isLoopback(given) && isLoopback(own) && given.port === own.port);
  if (given.username || given.password) return false;
  const path = given.pathname.replace(/\/$/, '');
  return (
    isSameHost && given.protocol === own.protocol && given.search === '' && ['', MCP_PATH].includes(path)
  );
}

/**
 * The metadata of the protected resource (RFC 9728).
 * @param origin the address that the client has used.
 */
export function resourceMetadata(issuer: string, origin: string, path: string): object {
  return {
    resource: `${origin}${path}`,
    authorization_servers: [issuer],
    scopes_supported: BASE_SCOPES,
    bearer_methods_supported: ['header'],
    resource_name: 'Souk',
    resource_documentation: `${issuer}/docs/tools-for-agents`,
  };
}

export const RESOURCE_METADATA_PATH = '/.well-known/oauth-protected-resource';

/** Returns the header that tells a client where and for which scopes to sign in. */
export function challenge(
  metadataUrl: string,
  {
    error,
    scopes = BASE_SCOPES,
  }: { error?: 'invalid_token' | 'insufficient_scope'; scopes?: readonly string[] } = {},
): string {
  const parts = [
    ...(error ? [`error="${error}"`] : []),
    `scope="${scopes.join(' ')}"`,
    `resource_metadata="${metadataUrl}"`,
  ];
  return `Bearer ${parts.join(', ')}`;
}
