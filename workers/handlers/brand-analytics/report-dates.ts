import { reportDates } from '../../../src/operations/brand-analytics/report-dates.ts';
import { fromReports } from './from-reports.ts';

const MOST_DATES = 20;

export const handleReportDates = fromReports(reportDates, async ({ country }, { weeks }) => ({
  country,
  dates: weeks.slice(0, MOST_DATES).map(({ week }) => week),
}));
