import type { VNode } from 'preact';
import { SITES } from '../../../operations/params/domain.ts';
import { Choice } from '../../kit/form.tsx';
import type { FormValues } from '../../kit/form-request.ts';

/** The field that chooses a site. */
export function SiteChoice(): VNode {
  return <Choice name="domain" label="Site" options={Object.entries(SITES)} preset="1" />;
}

/** The number of the chosen site, or the text, which the API refuses with a reason. */
export function siteOf({ domain = '1' }: FormValues): number | string {
  return /^\d{1,3}$/.test(domain) ? Number(domain) : domain;
}
