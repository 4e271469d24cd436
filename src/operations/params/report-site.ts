import { z } from 'zod';
import { REPORT_SITE_CODES } from '../brand-analytics/keywords/sites.ts';
import { problem } from './scalars.ts';

/** A site with brand analytics, by its code; case is ignored. */
export function reportSite() {
  return z.preprocess(
    (value) => (typeof value === 'string' ? value.trim().toLowerCase() : value),
    z.enum(REPORT_SITE_CODES, problem(`must be one of ${REPORT_SITE_CODES.join(', ')}`)),
  );
}
