import { z } from 'zod';
import { BATCH_POOL } from '../operations/pools.ts';
import type { MailSettings } from '../outbox/mail/mails.ts';
import { ConfigError } from '../platform/settings.ts';
import type { Config } from './config.ts';

/** Settings of mails. */
export const MAIL = {
  SMTP_URL: z
    .string()
    .refine(isSmtpUrl, 'must be an address such as smtps://user:password@mail.example.com')
    .optional()
    .describe(
      'Mail server, such as `smtps://user:password@mail.example.com`, or `smtp://` for STARTTLS; needed by workers of the pool `batch`, with MAIL_FROM. Default: no mails. `npm start` on a loopback address sets `console:`, which shows mails in the operator console and sends none',
    ),
  MAIL_FROM: z
    .string()
    .regex(
      /^[^\r\n<>]*<[^\s<>@]+@[^\s<>@]+>$|^[^\s<>@]+@[^\s<>@]+$/,
      'must be a sender such as Souk <souk@example.com>',
    )
    .optional()
    .describe(
      'Sender of mails, such as `Souk <souk@example.com>`; requires PUBLIC_URL, because mails contain links. With it the pages offer what needs mails, see [Mail](mail.md). Default: no mails',
    ),
} as const;

type MailConfig = Pick<Config, 'SMTP_URL' | 'MAIL_FROM' | 'PUBLIC_URL' | 'HOST' | 'PORT'>;

/** Returns the settings of mails; null: there are none. @throws ConfigError when they contradict each other. */
export function mailOf(config: MailConfig): MailSettings | null {
  const { SMTP_URL: smtpUrl, MAIL_FROM: from, PUBLIC_URL, HOST, PORT } = config;
  if (smtpUrl === CONSOLE) {
    if (!isLoopback(HOST))
      throw new ConfigError('SMTP_URL is console:, which shows links with tokens: HOST must be loopback.');
    const host = HOST.includes(':') ? `[${HOST}]` : HOST;
    return { from: from ?? '', publicUrl: PUBLIC_URL ?? `http://${host}:${PORT}`, transport: 'console' };
  }
  if (from === undefined) {
    if (smtpUrl === undefined) return null;
    throw new ConfigError('SMTP_URL is set: set MAIL_FROM as well.');
  }
  if (PUBLIC_URL === undefined)
    throw new ConfigError('MAIL_FROM is set: set PUBLIC_URL as well, because mails contain links.');
  return { from, publicUrl: PUBLIC_URL, transport: smtpUrl === undefined ? null : { smtpUrl } };
}

/** Returns the settings of mails for a worker, which needs SMTP_URL if it sends mails. @throws ConfigError. */
export function mailSenderOf(config: MailConfig & Pick<Config, 'WORKER_POOLS'>): MailSettings | null {
  const settings = mailOf(config);
  if (settings && settings.transport === null && config.WORKER_POOLS.includes(BATCH_POOL))
    throw new ConfigError(`MAIL_FROM is set: set SMTP_URL for workers of the pool ${BATCH_POOL} as well.`);
  return settings;
}

/** The value of SMTP_URL that shows mails in the operator console. */
export const CONSOLE = 'console:';

export function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || host.startsWith('127.');
}

function isSmtpUrl(value: string): boolean {
  if (value === CONSOLE) return true;
  if (!URL.canParse(value)) return false;
  const { protocol, hostname } = new URL(value);
  return /^smtps?:$/.test(protocol) && hostname !== '';
}
