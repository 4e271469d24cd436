import { z } from 'zod';
import type { OpenIdSettings } from '../accounts/openid.ts';
import { ConfigError } from '../platform/settings.ts';
import type { Config } from './config.ts';
import { isLoopback } from './mail.ts';
import { onOrOff } from './on-or-off.ts';

/** Settings of single sign-on. */
export const SINGLE_SIGN_ON = {
  OIDC_ISSUER: z
    .string()
    .refine(isIssuer, 'must be an https address such as https://accounts.example.com')
    .optional()
    .describe(
      'Issuer of an OpenID Connect provider through which people may sign in, such as `https://accounts.example.com`; requires OIDC_CLIENT_ID, OIDC_CLIENT_SECRET and PUBLIC_URL, see [Single sign-on](single-sign-on.md). Default: passwords only',
    ),
  OIDC_CLIENT_ID: z.string().optional().describe('Client id of Souk at this provider'),
  OIDC_CLIENT_SECRET: z.string().optional().describe('Client secret of Souk at this provider'),
  OIDC_NAME: z
    .string()
    .trim()
    .max(40, 'must have at most 40 characters')
    .default('single sign-on')
    .describe('Name of the provider on the button "Sign in with ..."'),
  OIDC_ALLOWED_DOMAINS: z
    .string()
    .default('')
    .transform((value) => value.split(',').map((domain) => domain.trim().toLowerCase()))
    .transform((domains) => domains.filter((domain) => domain !== ''))
    .pipe(z.array(z.string().regex(/^[a-z0-9-]+(\.[a-z0-9-]+)+$/, 'must be domains, separated by commas')))
    .describe(
      'Domains of the e-mail addresses that may sign in through the provider, such as `example.com,example.org`. Default: all',
    ),
  OIDC_NEW_PEOPLE: onOrOff
    .default(false)
    .describe(
      'Whether people who sign in through the provider for the first time get a profile with an account',
    ),
  OIDC_ROLE_CLAIM: z
    .string()
    .optional()
    .describe(
      'Claim whose value, a text or a list, gives the role `operator`, `support`, `finance` or `observer` in the installation at each sign-in. Default: the console gives roles',
    ),
} as const;

type OpenIdConfig = Pick<Config, keyof typeof SINGLE_SIGN_ON | 'PUBLIC_URL'>;

/** Returns the settings of single sign-on; null: there is none. @throws ConfigError when some are missing. */
export function openIdOf(config: OpenIdConfig): OpenIdSettings | null {
  const {
    OIDC_ISSUER: issuer,
    OIDC_CLIENT_ID: clientId,
    OIDC_CLIENT_SECRET: clientSecret,
    PUBLIC_URL,
  } = config;
  if (issuer === undefined) {
    if (clientId === undefined && clientSecret === undefined) return null;
    throw new ConfigError('OIDC_CLIENT_ID or OIDC_CLIENT_SECRET is set: set OIDC_ISSUER as well.');
  }
  if (clientId === undefined || clientSecret === undefined)
    throw new ConfigError('OIDC_ISSUER is set: set OIDC_CLIENT_ID and OIDC_CLIENT_SECRET as well.');
  if (PUBLIC_URL === undefined)
    throw new ConfigError(
      'OIDC_ISSUER is set: set PUBLIC_URL as well, because the provider sends people back to it.',
    );
  return {
    issuer,
    clientId,
    clientSecret,
    name: config.OIDC_NAME,
    allowedDomains: config.OIDC_ALLOWED_DOMAINS,
    hasNewPeople: config.OIDC_NEW_PEOPLE,
    roleClaim: config.OIDC_ROLE_CLAIM ?? null,
  };
}

/** The last slash is part of an issuer. */
function isIssuer(value: string): boolean {
  if (!URL.canParse(value)) return false;
  const { protocol, hostname } = new URL(value);
  return protocol === 'https:' || (protocol === 'http:' && isLoopback(hostname));
}
