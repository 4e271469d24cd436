import { z } from 'zod';
import { reportDate, reportSiteCode } from '../answers/keyword.ts';
import { defineLocal } from '../define.ts';

export const countries = defineLocal<'aba.countries', Record<string, never>>({
  name: 'aba.countries',
  summary: 'Lists the sites that have brand analytics, with their loaded weeks.',
  tool: 'aba_get_countries',
  toolset: 'aba',
  routes: [{ method: 'GET', path: '/api/aba/countries' }],
  answer: z.object({
    countries: z.array(
      z.object({
        country: reportSiteCode,
        latest_report_date: reportDate
          .nullable()
          .describe('The latest loaded week; null while none is loaded'),
        available_dates: z.array(reportDate).describe('Loaded weeks, newest first'),
        tld: z.string().describe('Top-level domain of the site'),
      }),
    ),
  }),
  records: { path: 'countries' },
  params: z.object({}).transform(() => ({})),
});
