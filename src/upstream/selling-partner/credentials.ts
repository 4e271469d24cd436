import type { REPORT_SITES, ReportSite } from '../../operations/brand-analytics/keywords/sites.ts';

/** A region of the Selling Partner API. Each has its own address and seller account. */
export type Region = (typeof REPORT_SITES)[ReportSite]['region'];

export interface Credentials {
  clientId: string;
  clientSecret: string;
  refreshTokens: Partial<Record<Region, string>>;
  /** Overrides the API's address. */
  baseUrl: string | undefined;
}
