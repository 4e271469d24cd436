import { alertReceiversOf } from './alerts.ts';
import { type Config, readPayments, stripeSettings } from './config.ts';
import { retentionSettings } from './limits.ts';
import { mailOf, mailSenderOf } from './mail.ts';
import { credentialsFor } from './selling-partner.ts';
import { openIdOf } from './single-sign-on.ts';

/** Returns what a gateway makes of settings that depend on each other. @throws ConfigError if they contradict each other. */
export function gatewaySettings(config: Config) {
  return { payments: readPayments(config), mail: mailOf(config), openId: openIdOf(config) };
}

/** Returns what a worker makes of settings that depend on each other. @throws ConfigError if they contradict each other. */
export function workerSettings(config: Config) {
  const { ABA_FETCH_COUNTRIES: sites } = config;
  const mail = mailSenderOf(config);
  return {
    reportFetches: sites && { sites, credentials: credentialsFor(config, sites) },
    retention: retentionSettings(config),
    mail,
    alerts: alertReceiversOf(config, mail),
    stripe: stripeSettings(config),
  };
}
