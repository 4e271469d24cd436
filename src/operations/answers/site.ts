import { z } from 'zod';
import { SITES } from '../params/domain.ts';

/** The site of an answer, by code and by number. */
export function site() {
  return {
    country: z.enum(Object.values(SITES)).describe('Site code'),
    domainId: z.literal(Object.keys(SITES).map(Number)).describe('Site number'),
  };
}
