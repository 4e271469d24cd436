import type { ReportSite } from '../../operations/brand-analytics/keywords/sites.ts';

/** How far a report is that was asked for. */
export interface ReportState {
  status: 'IN_QUEUE' | 'IN_PROGRESS' | 'DONE' | 'CANCELLED' | 'FATAL';
  /** Of its document, where there is one: the report, or what went wrong. */
  documentId: string | null;
}

/**
 * Where weekly search-term reports come from. Calls that are throttled, or fail in a way that may pass, are tried again
 * for some minutes. @throws ProviderRefusal
 */
export interface ReportProvider {
  /** Asks for the report of a week, told by its Saturday. @returns the id of the report. */
  order(site: ReportSite, week: string, signal: AbortSignal): Promise<string>;
  state(site: ReportSite, reportId: string, signal: AbortSignal): Promise<ReportState>;
  /** The address of a document; it can be used for five minutes. */
  addressOf(site: ReportSite, documentId: string, signal: AbortSignal): Promise<URL>;
  close(): Promise<void>;
}
