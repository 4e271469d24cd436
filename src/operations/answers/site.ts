import { z } from 'zod';
import { SITES } from '../params/domain.ts';

/** Answer fields that name the site, by code and by number. */
export function site() {
  return {
    country: z.enum(Object.values(SITES)).describe('Site code'),
    domainId: z.literal(Object.keys(SITES).map(Number)).describe('Site number'),
  };
}
