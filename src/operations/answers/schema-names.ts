import { z } from 'zod';

/**
 * Names of the schemas that documentation shows as things of their own. Not zod's own registry: ids in there change what
 * everything else generates.
 */
export const SCHEMA_NAMES = z.registry<{ id: string }>();
