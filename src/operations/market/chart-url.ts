import { z } from 'zod';
import { site } from '../answers/site.ts';
import { defineLocal } from '../define.ts';
import { DOMAIN_NAMES, type Domain, domain } from '../params/domain.ts';
import { ASIN_SCHEMA, list, parseAsin } from '../params/lists.ts';
import { request } from '../params/request.ts';

export interface ChartUrlInput {
  domain: Domain;
  /** Upper case, unique, in the order of the request. */
  asins: string[];
}

const answer = z.object({
  ...site(),
  count: z.int().min(0),
  pluginDownloadUrl: z.url().describe('Address of the browser plugin'),
  notice: z.string().describe('Requirements for viewing the chart pages'),
  items: z.array(z.object({ asin: z.string(), url: z.url().describe('Address of the chart page') })),
});

export const chartUrl = defineLocal<'market.charturl', ChartUrlInput>({
  name: 'market.charturl',
  summary: 'Returns links to price-chart pages.',
  tool: 'market_get_chart_url',
  toolset: 'visuals',
  routes: [{ method: 'GET', path: '/api/market/charturl' }],
  answer,
  records: { path: 'items' },
  params: request(
    { domain: DOMAIN_NAMES, asins: ['asin', 'asins'] },
    {
      domain: domain(),
      asins: list(
        { item: 'ASIN', max: 1000, schema: ASIN_SCHEMA, parse: parseAsin, sorted: false },
        '1-1000 ASINs, in asin and asins together; duplicates count once',
      ),
    },
  ),
});
