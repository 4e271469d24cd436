import { z } from 'zod';
import { SCHEMA_NAMES } from './schema-names.ts';

/** The position of a page in the full list. */
export const pagination = z
  .object({
    page: z.int().min(0).describe('Page, from 0'),
    perPage: z.int().min(1).describe('Entries per page'),
    total: z.int().min(0).describe('Entries in the full list'),
    totalPages: z.int().min(0),
  })
  .describe('Position of this page in the full list; absent if the request has neither page nor perPage')
  .register(SCHEMA_NAMES, { id: 'Pagination' });
