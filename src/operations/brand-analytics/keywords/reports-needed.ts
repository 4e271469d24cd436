import type { ReportSite } from './sites.ts';

/** The loaded reports that a call needs. */
export interface ReportsNeeded {
  /** null: all sites. */
  country: ReportSite | null;
  /** A week that must be loaded. */
  reportDate?: string | undefined;
  /** At least one week must be loaded. */
  needsWeek?: boolean;
  /** The filters of the call that need labels in this week, or else in the latest one. */
  labels?: readonly ('brand' | 'category')[];
}
