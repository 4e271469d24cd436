import type { ReportSite } from './sites.ts';

/** What a call needs of the loaded reports. */
export interface ReportsNeeded {
  /** null: those of all sites. */
  country: ReportSite | null;
  /** A week that must be loaded. */
  reportDate?: string | undefined;
  /** One week at least must be loaded. */
  needsWeek?: boolean;
}
