/** The sites that have brand analytics, by site code. */
export const REPORT_SITES = {
  us: { domain: 1, tld: 'com', marketplaceId: 'ATVPDKIKX0DER', region: 'na' },
  uk: { domain: 2, tld: 'co.uk', marketplaceId: 'A1F83G8C2ARO7P', region: 'eu' },
  de: { domain: 3, tld: 'de', marketplaceId: 'A1PA6795UKMFR9', region: 'eu' },
  fr: { domain: 4, tld: 'fr', marketplaceId: 'A13V1IB3VIYZZH', region: 'eu' },
  it: { domain: 8, tld: 'it', marketplaceId: 'APJ6JRA9NG5V4', region: 'eu' },
  jp: { domain: 5, tld: 'co.jp', marketplaceId: 'A1VC38T7YXB528', region: 'fe' },
  ca: { domain: 6, tld: 'ca', marketplaceId: 'A2EUQ1WTGCTBG2', region: 'na' },
  es: { domain: 9, tld: 'es', marketplaceId: 'A1RKKUPIHCS9HS', region: 'eu' },
  mx: { domain: 11, tld: 'com.mx', marketplaceId: 'A1AM78C64UM0Y8', region: 'na' },
} as const;

export type ReportSite = keyof typeof REPORT_SITES;

export const REPORT_SITE_CODES = Object.keys(REPORT_SITES) as [ReportSite, ...ReportSite[]];

/** Returns the site with this domain number. The database stores sites by domain number. */
export function siteOfDomain(domain: number): ReportSite | undefined {
  return REPORT_SITE_CODES.find((code) => REPORT_SITES[code].domain === domain);
}
