import { z } from 'zod';
import { reportDate, reportSiteCode } from '../answers.ts';
import { defineLocal, defineQueued, oneSource } from '../define.ts';
import { reportSite } from '../params/domain.ts';
import { request } from '../params/request.ts';
import type { ReportSite } from './keywords.ts';
import { WEEK_COLUMNS } from './week-columns.ts';

interface ReportDatesInput {
  country: ReportSite;
}

interface ReportDates extends Record<string, unknown> {
  country: ReportSite;
  /** Newest first, at most 20. */
  dates: string[];
}

export const reportDates = defineQueued<'aba.reportdates', ReportDatesInput, ReportDates>({
  name: 'aba.reportdates',
  summary: 'Lists the latest loaded weeks of a site, at most 20.',
  tool: 'aba_get_report_dates',
  toolset: 'aba',
  routes: [{ method: 'GET', path: '/api/aba/report-dates' }],
  params: request({}, { country: reportSite().describe('Site code') }),
  price: { text: '1', quote: () => 1 },
  pools: ['keywords'],
  queue: () => 'keywords',
  reports: ({ country }) => ({ country }),
  source: ({ country }) => oneSource(`aba/dates/${country}`),
  tables: {
    weeks: {
      columns: () => WEEK_COLUMNS,
      *rows({ country, dates }) {
        for (const reportDate of dates as string[]) yield { country, reportDate };
      },
    },
  },
  respond: {
    type: 'json',
    answer: z.object({
      country: reportSiteCode,
      dates: z.array(reportDate).describe('Newest first, at most 20'),
    }),
    present: (found) => ({ data: found.get('') ?? {} }),
  },
});

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
