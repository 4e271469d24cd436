import { SoukError } from '../platform/errors.ts';

/** Groups of operations, which are also toolsets. A key with one of them may make these calls and read their jobs. */
export const OPERATION_SCOPES = [
  'products',
  'categories',
  'sellers',
  'deals',
  'visuals',
  'aba',
  'trends',
] as const;

/** What a key may be allowed to do. `read` is everything that charges nothing and changes nothing. */
export const SCOPES = [
  'read',
  ...OPERATION_SCOPES,
  'batches',
  'schedules',
  'trackers',
  'webhooks',
  'keys',
] as const;

export type Scope = (typeof SCOPES)[number];

/** The scopes of a key; null: all but `keys`. */
export type KeyScopes = readonly Scope[] | null;

export const SCOPE_TEXTS: Readonly<Record<Scope, string>> = {
  read: 'Read jobs, batches, schedules, trackers, webhooks, usage and the ledger',
  products: 'Products, searches and the product finder',
  categories: 'Categories and best sellers',
  sellers: 'Sellers',
  deals: 'Deals',
  visuals: 'Charts and pictures',
  aba: 'Search terms of Brand Analytics',
  trends: 'Search trends',
  batches: 'Create, cancel and read batches',
  schedules: 'Create, change and read schedules',
  trackers: 'Create, change and read trackers',
  webhooks: 'Change the signing secret, test and replay webhooks',
  keys: 'Create, change and revoke API keys',
};

/** Returns whether a key has one of some scopes. An empty list requires none. */
export function isInScope(scopes: KeyScopes, anyOf: readonly Scope[]): boolean {
  return anyOf.length === 0 || anyOf.some((scope) => (scopes ? scopes.includes(scope) : scope !== 'keys'));
}

/** Returns whether a key with the scopes `own` has every one of these. */
export function areWithin(scopes: KeyScopes, own: KeyScopes): boolean {
  return (scopes ?? SCOPES.filter((scope) => scope !== 'keys')).every((scope) => isInScope(own, [scope]));
}

/** Returns a text as the scope of that name. */
export function scopeNamed(name: string): Scope {
  const scope = SCOPES.find((one) => one === name);
  if (scope) return scope;
  throw new Error(`${name} is not a scope`);
}

/** @throws SoukError KEY_SCOPE_MISSING. */
export function requireScope(scopes: KeyScopes, anyOf: readonly Scope[]): void {
  if (!isInScope(scopes, anyOf)) throw scopeMissing(anyOf);
}

export function scopeMissing(anyOf: readonly Scope[]): SoukError {
  const named = anyOf.length === 1 ? `the scope ${anyOf[0]}` : `one of the scopes ${anyOf.join(', ')}`;
  return new SoukError('KEY_SCOPE_MISSING', {
    message: `This API key lacks ${named}.`,
    metadata: { requiredScopes: anyOf },
  });
}
