import type { REPORT_SITES, ReportSite } from '../../operations/brand-analytics/keywords/sites.ts';

/** The Selling Partner API is three, each with an address and an account of its own. */
export type Region = (typeof REPORT_SITES)[ReportSite]['region'];

export interface Credentials {
  clientId: string;
  clientSecret: string;
  refreshTokens: Partial<Record<Region, string>>;
  /** Another address than the API's own. */
  baseUrl: string | undefined;
}
