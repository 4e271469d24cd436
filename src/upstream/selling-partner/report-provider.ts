import type { ReportSite } from '../../operations/brand-analytics/keywords/sites.ts';

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
