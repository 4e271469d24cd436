import { z } from 'zod';

/**
 * Names of the schemas that the OpenAPI document lists as components. This registry is separate from zod's global one,
 * whose ids change the output of every other JSON Schema generator.
 */
export const SCHEMA_NAMES = z.registry<{ id: string }>();
