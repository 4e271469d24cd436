import type { REPORT_SITES, ReportSite } from '../../operations/brand-analytics/keywords.ts';

/** A region of the Selling Partner API. Each has its own address and seller account. */
export type Region = (typeof REPORT_SITES)[ReportSite]['region'];

export interface Credentials {
  clientId: string;
  clientSecret: string;
  refreshTokens: Partial<Record<Region, string>>;
  /** Overrides the API's address. */
  baseUrl: string | undefined;
}

/** The report provider refused or failed. The message is a sentence for the operator, without secrets. */
export class ProviderRefusal extends Error {
  /** The same call may succeed later. */
  readonly mayPass: boolean;
  /** Time until the quota allows another call; 0 if the quota is not the cause. */
  readonly quotaMs: number;

  constructor(message: string, { mayPass = false, quotaMs = 0 } = {}) {
    super(message);
    this.mayPass = mayPass;
    this.quotaMs = quotaMs;
  }
}

/** The state of a report request. */
export interface ReportState {
  status: 'IN_QUEUE' | 'IN_PROGRESS' | 'DONE' | 'CANCELLED' | 'FATAL';
  /** Id of its document, if any: the report, or the reason of its failure. */
  documentId: string | null;
}

/**
 * The provider of weekly search-term reports. Throttled calls and temporary failures are retried for some minutes.
 * @throws ProviderRefusal
 */
export interface ReportProvider {
  /** Requests the report of a week. @param week its Saturday. @returns the id of the report. */
  requestReport(site: ReportSite, week: string, signal: AbortSignal): Promise<string>;
  state(site: ReportSite, reportId: string, signal: AbortSignal): Promise<ReportState>;
  /** Returns the address of a document, which expires after five minutes. */
  addressOf(site: ReportSite, documentId: string, signal: AbortSignal): Promise<URL>;
  close(): Promise<void>;
}
