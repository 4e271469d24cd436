import type { PoolName, TEST_POOL } from '../../operations/pools.ts';

/** The parts of the service that the status page shows, with their public names and what depends on them. */
export const COMPONENTS = {
  api: ['API', 'Every request'],
  'pool:market': ['Products', 'Calls for products, searches, sellers and deals'],
  'pool:lightning': ['Lightning deals', 'Calls for lightning deals'],
  'pool:storefront': ['Storefronts', 'Calls for storefronts'],
  'pool:graph': ['Price charts', 'Calls for chart images'],
  'pool:keywords': ['Keywords', 'Calls for keyword ranks'],
  'pool:trends': ['Search trends', 'Calls for search trends'],
  'pool:batch': ['Batches and schedules', 'Schedules, trackers and webhooks'],
  'upstream:products': ['Source of product data', 'Product data that is not cached'],
  'upstream:trends': ['Source of search trends', 'Search trends that are not cached'],
  'upstream:reports': ['Source of weekly reports', 'New weeks of keyword ranks'],
} as const satisfies Record<
  `${'pool' | 'upstream'}:${string}` | 'api',
  readonly [name: string, affects: string]
>;

export type ComponentId = keyof typeof COMPONENTS;

export const COMPONENT_IDS = Object.keys(COMPONENTS) as ComponentId[];

/** The source that the calls of a pool fetch from; null: the database of this service. */
export const UPSTREAM_OF: Readonly<Record<Exclude<PoolName, typeof TEST_POOL>, ComponentId | null>> = {
  market: 'upstream:products',
  lightning: 'upstream:products',
  storefront: 'upstream:products',
  graph: 'upstream:products',
  keywords: null,
  trends: 'upstream:trends',
};

export type Level = 'operational' | 'degraded' | 'outage';
