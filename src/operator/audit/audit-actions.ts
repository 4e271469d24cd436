/** The actions of the audit log, with their names on pages. */
export const AUDIT_ACTIONS = {
  'account.created': 'Account created',
  'account.disabled': 'Account disabled',
  'account.enabled': 'Account enabled',
  'account.email-confirmed': 'E-mail address confirmed',
  'account.viewed': 'Account viewed as its customer',
  'password-reset.created': 'Password reset link created',
  'key.created': 'Key created',
  'key.reset': 'Keys reset',
  'key.revoked': 'Keys revoked',
  'subscription.granted': 'Subscription granted',
  'pack.granted': 'Pack granted',
  'purchase.confirmed': 'Purchase confirmed',
  'purchase.cancelled': 'Purchase cancelled',
  'plan.saved': 'Plan saved',
  'offer.saved': 'Pack for sale saved',
  'report.import-started': 'Import of a report started',
  'report.fetch-started': 'Fetch of a report started',
  'reports.deleted': 'Reports deleted',
  'queue.changed': 'Queue changed',
  'session.started': 'Signed in',
  'session.refused': 'Sign-in refused',
  'session.ended': 'Signed out',
} as const;

export type AuditAction = keyof typeof AUDIT_ACTIONS;
