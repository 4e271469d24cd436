import { z } from 'zod';
import { SCHEMA_NAMES } from './schema-names.ts';

/** The position of a page in the full list. */
export const pagination = z
  .object({
    page: z.int().min(0).describe('Page, from 0'),
    perPage: z.int().min(1).describe('Entries a page'),
    total: z.int().min(0).describe('Entries of the whole list'),
    totalPages: z.int().min(0),
  })
  .describe('Where this page lies in the whole list; absent where all of it was asked for')
  .register(SCHEMA_NAMES, { id: 'Pagination' });
