import type { FastifyPluginAsync, FastifyRequest } from 'fastify';
import type { QueueGauges } from '../../jobs/queue-gauges.ts';
import type { Attempts } from '../accounts/attempts.ts';
import { type Ability, isAble, type Role, rolesAble } from '../accounts/members.ts';
import type { OpenId } from '../accounts/openid.ts';
import type { InstallationRole } from '../accounts/people.ts';
import type { Session } from '../accounts/sessions.ts';
import type { Consent } from '../api/connect/consent.ts';
import type { RequestLimits } from '../api/limits/limits.ts';
import type { PaymentProvider } from '../billing/payments/payment-port.ts';
import type { TrialPolicy } from '../billing/payments/purchase-rules.ts';
import type { OffPeakWindow } from '../billing/wallets.ts';
import type { Providers } from '../operations/pools.ts';
import type { Announcement } from '../operator/announcements.ts';
import { type Operating, type Operator, personOperator } from '../operator/audit.ts';
import type { StatusFacts } from '../operator/status/read-status.ts';
import { type MailWay, type Notice, queueMail } from '../outbox/mail/mails.ts';
import type { Clock } from '../platform/clock.ts';
import type { Database, Queryable } from '../platform/db/pool.ts';
import { SoukError } from '../platform/errors.ts';
import type { Logger } from '../platform/log.ts';
import type { Polled } from '../platform/polled.ts';
import type { Redis } from '../platform/redis.ts';
import type { RedisKeys } from '../platform/redis-keys.ts';
import type { SecretBox } from '../platform/secret-box.ts';
import type { CallEvents } from '../platform/telemetry/call-events.ts';
import type { Cache } from '../results/cache.ts';
import type { OfferedBy } from './kit/page-context.ts';

/** The dependencies of the site. */
export interface SiteDeps {
  database: Database;
  redis: Redis;
  /** Where shared answers are. */
  cache: Cache;
  keys: RedisKeys;
  attempts: Attempts;
  /** Decides what clients may do that sign in by OAuth. */
  consent: Consent;
  clock: Clock;
  log: Logger;
  events: CallEvents;
  queueGauges: QueueGauges;
  offPeak: OffPeakWindow;
  providers: Providers;
  payments: PaymentProvider;
  trials: TrialPolicy;
  /** Whether mails are sent. */
  mail: MailWay;
  /** The OpenID Connect provider of the settings OIDC_*; null: people sign in by password only. */
  openId: OpenId | null;
  /** Seals stored secrets: the setting SECRET_KEY. */
  secretBox: SecretBox;
  /** The settings TEST_MODE and TEST_UNITS_PER_DAY; null: there are no test keys. */
  testMode: { unitsPerDay: number } | null;
  /** ISO 4217, lower case. */
  currency: string;
  /** The setting UPSTREAM_TOKEN_PRICE; null: tokens count without cost. */
  tokenPrice: number | null;
  /** The setting SUPPORT_GRANT_UNITS. */
  supportGrantUnits: number;
  /** The setting PUBLIC_URL. */
  publicUrl: string | undefined;
  /** The settings OPERATOR_NAME and OPERATOR_LINKS. */
  offeredBy: OfferedBy;
  /** The host of product pictures: the setting IMAGE_CDN_URL. */
  imageCdnUrl: string;
  /** Whether this installation serves the pictures of all products, which are those of the demo provider, itself. */
  hasDemoPictures: boolean;
  /** Serves the pictures of invented products; null: no gateway has them. */
  pictureRoutes: FastifyPluginAsync | null;
  /** The setting ADMIN_TOKEN; without it /admin does not exist. */
  adminToken: string | undefined;
  /** The limits that the API has, too. */
  limits: Pick<RequestLimits, 'open' | 'openPages' | 'downloadStallMs'>;
  statusBoard: Polled<StatusFacts>;
  announcements: Polled<Announcement[]>;
}

/** The dependencies of a page. */
export interface Pages extends Omit<SiteDeps, 'publicUrl'> {
  /** Address of this installation for its customers, without a trailing slash; null: the host of the request. */
  publicUrl: string | null;
}

/** Somebody who acts in the console, or a program with the operator token. */
export interface Staff {
  role: InstallationRole;
  operator: Operator;
}

/** The person of a session as somebody who acts for the installation. */
export function staffOf(session: Session, { ip }: FastifyRequest): Staff {
  const { installationRole } = session;
  if (installationRole === null) throw new Error('the person has no role in the installation');
  return { role: installationRole, operator: personOperator(session, ip) };
}

/** What an act of the operator needs, for a page of the console. */
export function operatingOf({ database, clock }: Pages, { staff }: FastifyRequest): Operating {
  if (!staff) throw new Error('the page requires a role in the installation');
  return { database, operator: staff.operator, now: clock.now() };
}

/** @throws SoukError KEY_FORBIDDEN if a role in an account does not allow something. */
export function requireAble(role: Role, ability: Ability): void {
  if (isAble(role, ability)) return;
  throw new SoukError('KEY_FORBIDDEN', {
    message: `Your role in this account is ${role}. This requires ${rolesAble(ability)}.`,
  });
}

/** The address of this installation for its customers, without a trailing slash. */
export function baseUrlOf({ publicUrl }: Pages, { protocol, host }: FastifyRequest): string {
  return publicUrl ?? `${protocol}://${host}`;
}

/** Queues a mail about an action on a page, unless this installation has no mails. */
export async function notify(
  { mail, clock }: Pick<Pages, 'mail' | 'clock'>,
  database: Queryable,
  notice: Notice,
): Promise<void> {
  if (mail !== 'none') await queueMail(database, notice, clock.now());
}
