import type { Operation } from '../../operations/define.ts';
import { queuedOperation } from '../../operations/index.ts';
import { DOMAIN_NAMES, type Domain, SITES, siteIn } from '../../operations/params/domain.ts';
import { Fault, isRecord } from '../../operations/params/request.ts';
import { invalidParameters } from '../../platform/errors.ts';
import { parametersOf } from '../openapi/parameters.ts';
import type { Arguments } from './tool.ts';
import { split, withoutNulls } from './tool-requests.ts';

/** The parameter that holds the site: a number (domain, domainId), a code (country), or the region of searches (geo). */
type SiteParameter = 'domain' | 'domainId' | 'country' | 'geo';

const SITE_PARAMETERS: readonly SiteParameter[] = ['domain', 'domainId', 'country', 'geo'];

/** The names under which a tool accepts its site. */
export const SITE_NAMES: ReadonlySet<string> = new Set(DOMAIN_NAMES);

/** Returns the parameter of the site among some parameters; null if there is none. */
export function siteParameterIn(names: readonly string[]): SiteParameter | null {
  return SITE_PARAMETERS.find((name) => names.includes(name)) ?? null;
}

/** Returns the arguments with their site, which may have any of its names, under the name of the parameter. @throws SoukError VALIDATION_FAILED. */
export function withSite(args: Arguments, parameter: SiteParameter | null): Arguments {
  const [named, others] = split(args, SITE_NAMES);
  const given = Object.fromEntries(Object.entries(named).filter(([, value]) => value !== null));
  const names = Object.keys(given);
  if (parameter === null || names.length === 0 || (names.length === 1 && names[0] === parameter)) return args;
  const site = siteIn(given);
  if (site instanceof Fault) throw fault(names[0] ?? parameter, `${site.problem}${site.hint}`);
  if (parameter === 'geo') return { ...others, geo: regionOf(site, others.geo) };
  return { ...others, [parameter]: parameter === 'country' ? SITES[site] : site };
}

/** Returns the region of searches for a site. A region within its country stays. */
function regionOf(site: Domain, geo: unknown): unknown {
  const code = site === 2 ? 'GB' : SITES[site].toUpperCase();
  if (geo === undefined || geo === null) return code;
  if (typeof geo !== 'string' || geo.toUpperCase().split('-')[0] === code) return geo;
  throw fault('geo', `${geo.slice(0, 20)} is not in the country of the site ${SITES[site]}`);
}

function fault(parameter: string, problem: string) {
  return invalidParameters([{ parameter, problem }]);
}

/**
 * Returns the arguments of an endpoint with their sites under the names that it knows: its own, those of the calls of a batch,
 * and that of a screen. A tracker has a domain with products, and a country with keywords.
 * @param names the fields of its body.
 */
export function withSites(args: Arguments, names: readonly string[]): Arguments {
  const isOfReports = names.includes('country') && (args.keywords != null || args.screen != null);
  const sent = withSite(args, isOfReports ? 'country' : siteParameterIn(names));
  const { screen } = sent;
  return withSitesOfCalls(
    isRecord(screen) ? { ...sent, screen: withSite(withoutNulls(screen), 'country') } : sent,
  );
}

/** Returns the body of a batch, or of a schedule with a batch, with the sites of its calls under the names of their operation. */
function withSitesOfCalls(body: Arguments): Arguments {
  const { batch, operation: name, params, items } = body;
  if (isRecord(batch)) return { ...body, batch: withSitesOfCalls(withoutNulls(batch)) };
  const operation = typeof name === 'string' ? queuedOperation(name) : undefined;
  if (!operation) return body;
  const parameter = siteParameterOf(operation);
  const converted = (call: unknown) => (isRecord(call) ? withSite(withoutNulls(call), parameter) : call);
  return {
    ...body,
    ...(params === undefined ? {} : { params: converted(params) }),
    ...(Array.isArray(items) ? { items: items.map(converted) } : {}),
  };
}

function siteParameterOf({ params }: Pick<Operation, 'params'>): SiteParameter | null {
  return siteParameterIn(parametersOf(params).map(({ name }) => name));
}
