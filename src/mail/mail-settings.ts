/** How this installation sends mails. */
export interface MailSettings {
  /** The sender: the setting MAIL_FROM. */
  from: string;
  /** Address of the pages that mails link to, without a trailing slash. */
  publicUrl: string;
  /**
   * The setting SMTP_URL. `console`: mails are shown in the operator console, and none are sent. null: another process sends
   * them.
   */
  transport: { smtpUrl: string } | 'console' | null;
}

/** Whether this installation sends mails, only shows them in the operator console, or does neither. */
export type MailWay = 'sent' | 'shown' | 'none';

export function mailWayOf(settings: MailSettings | null | undefined): MailWay {
  if (!settings) return 'none';
  return settings.transport === 'console' ? 'shown' : 'sent';
}
