import { z } from 'zod';
import { FLUCTUATIONS } from '../brand-analytics/keywords/fluctuation.ts';
import { REPORT_SITE_CODES } from '../brand-analytics/keywords/sites.ts';
import { SCHEMA_NAMES } from './schema-names.ts';

/** Schemas of brand-analytics answers about search terms. Dates are Saturdays, YYYY-MM-DD; shares are percent. */

export const reportSiteCode = z.enum(REPORT_SITE_CODES);

export const reportDate = z.iso.date().describe('Saturday of a week');

export const wordId = z.int().describe('Id of the search term');

export const fluctuation = z
  .enum(FLUCTUATIONS)
  .nullable()
  .describe('Change of the rank since the previous week; null if that week is not loaded');

const share = z.number().nullable().describe('Percent; null if blank in the report');

/** One of the three most-clicked products of a search term. */
export const goods = z
  .object({
    position: z.int().min(1).max(3),
    asin: z.string(),
    title: z.string().nullable(),
    brand: z.string().nullable(),
    imageUrl: z.string().nullable(),
    clickShare: share,
    conversionShare: share,
  })
  .register(SCHEMA_NAMES, { id: 'KeywordGoods' });

/** The rank of a search term in one week. */
export const rankRow = z
  .object({
    wordId,
    keyword: z.string(),
    rank: z.int(),
    lastRank: z.int().nullable().describe('Rank in the previous week'),
    rankChange: z.int().nullable().describe('Change in places since the previous week; positive is better'),
    rankChangeRate: z.number().nullable().describe('rankChange divided by lastRank'),
    rank4w: z.int().nullable().describe('Rank four weeks earlier'),
    rankChange4w: z.int().nullable(),
    fluctuationType: fluctuation,
    brands: z.array(z.string()).describe('Up to three brands, most clicked first'),
    categories: z.array(z.string()).describe('Up to three categories, most clicked first'),
    clickShareSum: z.number().describe('Sum of the three products, in percent'),
    convShareSum: z
      .number()
      .nullable()
      .describe('Sum of the three products, in percent; null if all are blank'),
    goods: z.array(goods),
  })
  .register(SCHEMA_NAMES, { id: 'KeywordRank' });

const week = z.object({
  reportDate,
  rank: z
    .int()
    .nullable()
    .describe('null if the term was not ranked in that week; then the other values are null, too'),
  rankChange: z.int().nullable(),
  clickShareSum: z.number().nullable(),
  convShareSum: z.number().nullable(),
});

const LOADED_WEEKS = 'Loaded weeks, oldest first';

/** The rank history of a search term, with one entry for each loaded week. */
export const rankHistory = z
  .array(week.register(SCHEMA_NAMES, { id: 'KeywordHistoryEntry' }))
  .describe(LOADED_WEEKS);

/** The same with the shares of the three most-clicked products of each week. */
export const shareHistory = z
  .array(
    week
      .extend({
        goods: z.array(goods.pick({ position: true, asin: true, clickShare: true, conversionShare: true })),
      })
      .register(SCHEMA_NAMES, { id: 'KeywordHistoryWeek' }),
  )
  .describe(LOADED_WEEKS);
