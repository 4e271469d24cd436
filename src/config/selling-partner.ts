import { REPORT_SITES, type ReportSite } from '../operations/brand-analytics/keywords/sites.ts';
import { ConfigError } from '../platform/settings.ts';
import type { Credentials, Region } from '../upstream/selling-partner/credentials.ts';
import type { Config } from './config.ts';

const REFRESH_TOKENS = {
  na: 'SP_API_REFRESH_TOKEN_NA',
  eu: 'SP_API_REFRESH_TOKEN_EU',
  fe: 'SP_API_REFRESH_TOKEN_FE',
} as const satisfies Record<Region, keyof Config>;

/** Returns the credentials for the reports of these sites. @throws ConfigError naming missing settings. */
export function credentialsFor(config: Config, sites: readonly ReportSite[]): Credentials {
  const { SP_API_CLIENT_ID: clientId, SP_API_CLIENT_SECRET: clientSecret } = config;
  const regions = new Set(sites.map((site) => REPORT_SITES[site].region));
  const wanted = [
    'SP_API_CLIENT_ID',
    'SP_API_CLIENT_SECRET',
    ...[...regions].map((region) => REFRESH_TOKENS[region]),
  ] as const;
  const missing = wanted.filter((name) => config[name] === undefined);
  if (missing.length > 0)
    throw new ConfigError(
      `Not set: ${missing.join(', ')}. Fetching reports of ${sites.join(', ')} needs it.`,
    );
  return {
    clientId: clientId ?? '',
    clientSecret: clientSecret ?? '',
    refreshTokens: {
      na: config.SP_API_REFRESH_TOKEN_NA,
      eu: config.SP_API_REFRESH_TOKEN_EU,
      fe: config.SP_API_REFRESH_TOKEN_FE,
    } as Partial<Record<Region, string>>,
    baseUrl: config.SP_API_BASE_URL,
  };
}
