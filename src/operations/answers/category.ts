import { z } from 'zod';
import { largeId, words } from './measures.ts';
import { SCHEMA_NAMES } from './schema-names.ts';

/** A category. Fields without a description are passed on as the provider sends them. */
export const category = z
  .looseObject({
    catId: largeId('Category node id'),
    name: words('Name').nullish(),
    children: z.array(largeId('Category node id')).nullish().describe('Direct subcategories'),
    parent: largeId('Parent category; 0 for a root').nullish(),
  })
  .describe('A category')
  .register(SCHEMA_NAMES, { id: 'Category' });
