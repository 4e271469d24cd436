import { z } from 'zod';
import { defineLocal } from '../define.ts';

export const countries = defineLocal<'aba.countries', Record<string, never>>({
  name: 'aba.countries',
  summary: 'Lists the sites that have brand analytics, with the weeks that are loaded.',
  tool: 'aba_get_countries',
  routes: [{ method: 'GET', path: '/api/aba/countries' }],
  params: z.object({}).transform(() => ({})),
});
