import {
  accountErased,
  confirmEmail,
  confirmNewEmail,
  connectionCreated,
  emailChanging,
  erasurePlanned,
  invitation,
  keyCreated,
  newSignIn,
  passwordChanged,
  resetPassword,
  twoFactorChanged,
} from './account-mails.ts';
import type { Kind } from './content.ts';
import {
  keyUnused,
  paymentFailed,
  planEnds,
  scheduleFailing,
  scheduleWaits,
  trackerAlerts,
  unitsEmpty,
  unitsLow,
} from './notice-mails.ts';

/** Every kind of mail. Stored mails have these names, so a name stays. */
const MAIL_KINDS = {
  confirm_email: confirmEmail,
  confirm_new_email: confirmNewEmail,
  email_changing: emailChanging,
  reset_password: resetPassword,
  new_sign_in: newSignIn,
  password_changed: passwordChanged,
  key_created: keyCreated,
  connection_created: connectionCreated,
  two_factor_changed: twoFactorChanged,
  erasure_planned: erasurePlanned,
  account_erased: accountErased,
  invitation,
  units_low: unitsLow,
  units_empty: unitsEmpty,
  plan_ends: planEnds,
  payment_failed: paymentFailed,
  key_unused: keyUnused,
  schedule_failing: scheduleFailing,
  schedule_waits: scheduleWaits,
  tracker_alerts: trackerAlerts,
} as const;

export type MailKind = keyof typeof MAIL_KINDS;

export type FactsOf<Name extends MailKind> = Parameters<(typeof MAIL_KINDS)[Name]['content']>[0];

/** Returns a kind by its stored name; null for one of another version. */
export function kindNamed(name: string): Kind<object> | null {
  return Object.hasOwn(MAIL_KINDS, name) ? MAIL_KINDS[name as MailKind] : null;
}
