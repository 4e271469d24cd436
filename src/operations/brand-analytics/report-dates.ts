import { z } from 'zod';
import { reportDate, reportSiteCode } from '../answers.ts';
import { defineLocal, defineQueued, oneSource, presentFetched } from '../define.ts';
import { reportSite } from '../params/domain.ts';
import { request } from '../params/request.ts';
import { OF_REPORTS, WEEK_COLUMNS } from './week-columns.ts';

export const reportDates = defineQueued({
  name: 'aba.reportdates',
  summary: 'Lists the latest loaded weeks of a site, at most 20.',
  tool: 'aba_get_report_dates',
  ...OF_REPORTS,
  routes: [{ method: 'GET', path: '/api/aba/report-dates' }],
  params: request({}, { country: reportSite().describe('Site code') }),
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
    present: presentFetched,
  },
});

export const countries = defineLocal({
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
