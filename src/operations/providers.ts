/** The name of the demo provider at any address. */
export const DEMO = 'demo';

/**
 * The providers of an installation, each by a name that no other has. Identities of cached data contain the name, so that
 * data of one provider is never shown for another.
 */
export interface Providers {
  /** Products, categories, sellers and deals. */
  products: string;
  /** Search trends. */
  trends: string;
  /** Weekly search-terms reports. */
  reports: string;
}

/** The names under which test calls get data of the demo provider, which are never shown for those of the installation. */
export const TEST_PROVIDERS: Providers = { products: 'test', trends: 'test', reports: 'test' };

export const PROVIDER_KINDS = ['products', 'trends', 'reports'] as const satisfies (keyof Providers)[];

/** The kind of data that operations request, by the group in their names. Other groups have no provider. */
const KIND_OF_GROUP: Readonly<Record<string, keyof Providers>> = {
  market: 'products',
  trends: 'trends',
  aba: 'reports',
};

/** Returns the provider of an operation's data. @throws if the operation has none. */
export function providerOf(providers: Providers, { name }: { name: string }): string {
  const kind = KIND_OF_GROUP[name.split('.')[0] ?? ''];
  if (!kind) throw new Error(`${name} has no provider`);
  return providers[kind];
}
