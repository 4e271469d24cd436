import type { chartUrl } from '../../../operations/market/chart.ts';
import { SITES } from '../../../operations/params/domain.ts';
import type { LocalAnswer } from './local-answer.ts';

export const answerChartUrl: LocalAnswer<typeof chartUrl> = async ({ links }, { domain, asins }) => {
  const country = SITES[domain];
  const items = asins.map((asin) => ({
    asin,
    url: `${links.chartSiteUrl}/market/product?country=${country}&asin=${asin}`,
  }));
  return {
    data: {
      country,
      domainId: domain,
      count: items.length,
      pluginDownloadUrl: `${links.chartSiteUrl}/plugin`,
      notice: 'The chart pages need a signed-in account of the chart site and its browser plugin.',
      items,
    },
  };
};
