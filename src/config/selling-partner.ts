import { z } from 'zod';
import { REPORT_SITES, type ReportSite } from '../operations/brand-analytics/keywords.ts';
import { ConfigError } from '../platform/settings.ts';
import type { Credentials, Region } from '../upstream/selling-partner/report-provider.ts';
import type { Config } from './config.ts';

const region = z.enum(['na', 'eu', 'fe'] satisfies Region[]);

/** Settings of the Selling Partner API. */
export const SELLING_PARTNER = {
  SP_API_CLIENT_ID: z
    .string()
    .optional()
    .describe('Client id of the application that fetches search-terms reports from the Selling Partner API'),
  SP_API_CLIENT_SECRET: z.string().optional().describe('Client secret of that application'),
  SP_API_REFRESH_TOKENS: z
    .string()
    .default('')
    .transform((value) => value.split(',').filter((entry) => entry.trim() !== ''))
    .transform((entries) => Object.fromEntries(entries.map(regionAndToken)))
    .pipe(
      z.partialRecord(
        region,
        z.string().min(1, 'must be a token'),
        'must be such as na=TOKEN,eu=TOKEN,fe=TOKEN',
      ),
    )
    .describe(
      'Refresh tokens of the seller accounts that may read the reports of a region: `na=TOKEN,eu=TOKEN,fe=TOKEN`, with `na` for us, ca, mx, `eu` for uk, de, fr, it, es, and `fe` for jp',
    ),
} as const;

function regionAndToken(entry: string): [string, string] {
  const [region = '', ...token] = entry.trim().split('=');
  return [region, token.join('=')];
}

/** Returns the credentials for the reports of these sites. @throws ConfigError naming missing settings. */
export function credentialsFor(config: Config, sites: readonly ReportSite[]): Credentials {
  const {
    SP_API_CLIENT_ID: clientId,
    SP_API_CLIENT_SECRET: clientSecret,
    SP_API_REFRESH_TOKENS: refreshTokens,
  } = config;
  const regions = [...new Set(sites.map((site) => REPORT_SITES[site].region))];
  const missing = [
    ...(['SP_API_CLIENT_ID', 'SP_API_CLIENT_SECRET'] as const).filter((name) => config[name] === undefined),
    ...regions
      .filter((region) => refreshTokens[region] === undefined)
      .map((region) => `SP_API_REFRESH_TOKENS (${region})`),
  ];
  if (clientId === undefined || clientSecret === undefined || missing.length > 0)
    throw new ConfigError(
      `Not set: ${missing.join(', ')}. Fetching reports of ${sites.join(', ')} needs it.`,
    );
  return { clientId, clientSecret, refreshTokens, baseUrl: config.SP_API_BASE_URL };
}
