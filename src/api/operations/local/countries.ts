import { providersFor, reportsFor } from '../../../../jobs/payload.ts';
import { loadedWeeks } from '../../../brand-analytics/weeks.ts';
import { REPORT_SITE_CODES, REPORT_SITES } from '../../../operations/brand-analytics/keywords.ts';
import type { countries } from '../../../operations/brand-analytics/report-dates.ts';
import type { LocalAnswer } from './local-answer.ts';

export const answerCountries: LocalAnswer<typeof countries> = async (
  { reports, providers },
  _input,
  { accountId },
) => {
  const { reports: provider } = providersFor(accountId, providers);
  const weeks = await loadedWeeks(reportsFor(accountId, reports), provider, null);
  const records = REPORT_SITE_CODES.map((country) => {
    const dates = weeks.filter(({ site }) => site === country).map(({ week }) => week);
    return {
      country,
      latest_report_date: dates[0] ?? null,
      available_dates: dates,
      tld: REPORT_SITES[country].tld,
    };
  });
  return { data: { countries: records } };
};
